import { App } from "./app/app";
import { unpack } from "./data/unpack";
import { decode } from "./data/decode";
import "./style.css";

async function start(): Promise<void> {
  const element = document.getElementById("data")!;
  const profile = decode(await unpack(element.textContent!.trim()));
  element.remove();
  document.getElementById("loading")?.remove();
  const app = new App(profile, document.getElementById("app")!);
  app.start();
  Object.assign(window, { heapledger: app }); // for the console, and for tests
  performance.mark("heapledger-ready");
}

start().catch((error: unknown) => {
  const place = document.getElementById("app")!;
  place.replaceChildren();
  place.append(`This page cannot be shown: ${error instanceof Error ? error.message : String(error)}.`);
  console.error(error);
});
