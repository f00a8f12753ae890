// The two calls that attach and detach are, in the running process; and the words for what they answer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "tool/collect/environment.hpp"
#include "tool/inject/inject.hpp"

namespace heapledger::cli {

// Throws input_error where the process cannot be attached to, or its probe refuses; it runs on as before then.
inject::outcome begin_in(const inject::target& process, const collect::probe_settings& settings);

// Empty when it is done, or when the process was not attached; else why not.
std::string end_in(pid_t pid);

// What the probe's answer to `attach` means; empty: it is done. `limits` is the process's in /proc.
std::string refusal_of(std::int32_t result, std::string_view limits);

// Throws input_error where somebody profiles the process already.
void refuse_program_of_ours(pid_t pid);

}  // namespace heapledger::cli
