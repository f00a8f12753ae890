// What every view is given.
import type { Colours } from "../view/colours";
import type { Model } from "./model";
import type { State } from "./state";
import type { Profile } from "../model/profile";

export interface Context {
  readonly profile: Profile;
  readonly model: Model;
  readonly state: State;
  colours(): Colours;
  change(change: Partial<State>): void; // shows it
  note(change: Partial<State>): void; // only remembers it in the address
  say(text: string): void;
}

export interface Page {
  readonly element: HTMLElement;
  update(): void; // its element is in the document
  key?(event: KeyboardEvent): boolean;
}
