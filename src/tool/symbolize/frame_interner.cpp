#include "tool/symbolize/frame_interner.hpp"

namespace heapledger::symbols {

frame_interner::frame_interner(profile& target) : target_(target) {
  for (std::uint32_t i = 0; i < target.strings.size(); ++i) strings_.emplace(target.strings[i], i);
  for (std::uint32_t i = 0; i < target.frames.size(); ++i) frames_.emplace(target.frames[i], i);
}

std::uint32_t frame_interner::frame(const resolved_frame& resolved) {
  const frame_info info{resolved.function.empty() ? none : string(resolved.function),
                        resolved.file.empty() ? none : string(resolved.file), resolved.line};
  const auto [place, is_new] = frames_.emplace(info, static_cast<std::uint32_t>(target_.frames.size()));
  if (is_new) target_.frames.push_back(info);
  return place->second;
}

std::uint32_t frame_interner::string(std::string_view text) {
  const auto [place, is_new] = strings_.emplace(text, static_cast<std::uint32_t>(target_.strings.size()));
  if (is_new) target_.strings.emplace_back(text);
  return place->second;
}

}  // namespace heapledger::symbols
