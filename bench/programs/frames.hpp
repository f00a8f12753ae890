// Puts real frames between a caller and its work: under_frames<N>(work) runs work() under N further frames, each of
// a function of its own. No frame can be inlined, merged or turned into a tail call.
#pragma once

template <int Frames, class Work>
[[gnu::noinline, gnu::noclone]] void under_frames(Work& work) {
  if constexpr (Frames == 0) {
    work();
  } else {
    under_frames<Frames - 1>(work);
  }
  asm volatile("" ::"i"(Frames));  // something to do after the call, different in every frame
}
