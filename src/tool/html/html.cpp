#include "tool/html/html.hpp"

#include <zlib.h>

#include <stdexcept>
#include <utility>

#include "tool/html/data.hpp"

namespace heapledger::html {
namespace {

constexpr std::string_view place_of_data = "@@HEAPLEDGER_DATA@@";

std::string gzip(const std::string& data) {
  constexpr int gzip_window = 15 + 16;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, gzip_window, 9, Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("cannot compress the page: out of memory");
  }
  std::string packed(deflateBound(&stream, data.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(data.data()));
  stream.avail_in = static_cast<uInt>(data.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const bool complete = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  if (!complete) throw std::runtime_error("cannot compress the page");
  return packed;
}

void append_base64(std::string& out, std::string_view bytes) {
  constexpr char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const auto byte = [&](std::size_t at) -> unsigned {
      return at < bytes.size() ? static_cast<unsigned char>(bytes[at]) : 0U;
    };
    const unsigned group = byte(i) << 16 | byte(i + 1) << 8 | byte(i + 2);
    out += digits[group >> 18];
    out += digits[group >> 12 & 63];
    out += i + 1 < bytes.size() ? digits[group >> 6 & 63] : '=';
    out += i + 2 < bytes.size() ? digits[group & 63] : '=';
  }
}

}  // namespace

std::string html_page(profile p) {
  const std::string_view shell = page_shell();
  const std::size_t place = shell.find(place_of_data);
  if (place == std::string_view::npos) throw std::runtime_error("the page has no place for its data");
  const std::string packed = gzip(page_data(std::move(p)));
  std::string page;
  page.reserve(shell.size() + packed.size() * 4 / 3 + 4);
  page += shell.substr(0, place);
  append_base64(page, packed);
  page += shell.substr(place + place_of_data.size());
  return page;
}

}  // namespace heapledger::html
