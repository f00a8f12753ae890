// The two calls that attach and detach are, in the running process; and the words for what they answer.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "tool/collect/environment.hpp"
#include "tool/collect/session.hpp"
#include "tool/inject/inject.hpp"

namespace heapledger::cli {

// Throws input_error where the process cannot be attached to, or its probe refuses; it runs on as before then.
inject::outcome begin_in(const inject::target& process, const collect::probe_settings& settings);

// Empty when it is done, or when the process was not attached; else why not.
std::string end_in(pid_t pid);

// The same in all processes of a session that are not in `ended`, those too that begin books meanwhile. Each is in it
// then, with what end_in said.
void end_in_all(collect::session& session, std::map<pid_t, std::string>& ended);

// Of those, where it could not be done: they count on, until somebody detaches them.
std::set<pid_t> still_counting(const std::map<pid_t, std::string>& ended);

// What the probe's answer to `attach` means; empty: it is done. `limits` is the process's in /proc.
std::string refusal_of(std::int32_t result, std::string_view limits);

// Throws input_error where somebody profiles the process already.
void refuse_program_of_ours(pid_t pid);

}  // namespace heapledger::cli
