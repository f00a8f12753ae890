// A pool for each size class, and one call for all: the smallest class that is large enough and aligned enough. What
// none is goes upstream. Frees say size and alignment again, as operator delete, std::pmr and standard allocators do.
//
// Thread safe as its threading policy is. allocate throws std::bad_alloc, or what upstream throws.
//
// Where the size is a constant the class is found at compile time; otherwise by a table and an indirect call.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <tuple>
#include <utility>

#include "../pool.hpp"

namespace heapledger {

template <std::size_t... Bytes>
struct size_classes {
  static constexpr std::array<std::size_t, sizeof...(Bytes)> all{Bytes...};
  static constexpr std::size_t count = sizeof...(Bytes);
  static constexpr std::size_t largest = all[count - 1];
  static constexpr std::size_t step = 8;

  static constexpr bool ascend() {
    for (std::size_t i = 0; i + 1 < count; ++i) {
      if (all[i] >= all[i + 1]) return false;
    }
    return count < 256;
  }
  static_assert(ascend(), "size classes are in ascending order, at most 255 of them");

  // Class by (bytes + step - 1) / step.
  static constexpr auto make_table() {
    std::array<std::uint8_t, (largest + step - 1) / step + 1> result{};
    std::size_t one = 0;
    for (std::size_t i = 0; i < result.size(); ++i) {
      while (one + 1 < count && all[one] < i * step) ++one;
      result[i] = static_cast<std::uint8_t>(one);
    }
    return result;
  }
  static constexpr auto table = make_table();
  static constexpr bool exact() {
    for (const std::size_t one : all) {
      if (one % step != 0) return false;
    }
    return true;
  }
  static_assert(exact(), "size classes are multiples of 8");
};

// Above 64 bytes at most a fifth of a chunk is unused. Chunks of a multiple of 16 are aligned to that, the others to 8.
using default_size_classes = size_classes<8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384,
                                          448, 512, 640, 768, 896, 1024>;

template <class Threading = threading::single, class Header = no_header, class Analyzer = no_analyzer,
          class Checks = default_checks, pool_options Options = pool_options{}, class Sizes = default_size_classes>
class pool_set {
 public:
  using sizes = Sizes;
  static constexpr std::size_t largest = Sizes::largest;
  template <std::size_t Class>
  using pool_type = pool<Sizes::all[Class], Threading, Header, Analyzer, Checks, Options>;

  // Null: operator new and delete.
  constexpr explicit pool_set(std::pmr::memory_resource* upstream = nullptr) : upstream_(upstream) {}
  constexpr explicit pool_set(std::nullptr_t) : pool_set() {}
  // `name` is that of all its pools.
  constexpr explicit pool_set(const char* name, std::pmr::memory_resource* upstream = nullptr)
      : pool_set(name, upstream, every) {}

  HEAPLEDGER_POOL_HOT void* allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    const std::size_t one = class_of(bytes, alignment);
    if (one == none) [[unlikely]] {
      if (bytes > most_bytes) pool_detail::throw_bad_alloc();
      return upstream_ != nullptr ? upstream_->allocate(bytes, alignment)
                                  : ::operator new (bytes, std::align_val_t{alignment});
    }
    if (__builtin_constant_p(one)) return allocate_known(one, bytes, every);
    return allocate_from[one](*this, bytes);
  }
  // Null instead of an exception; what `upstream` throws comes through.
  HEAPLEDGER_POOL_HOT void* try_allocate(std::size_t bytes, std::size_t alignment = alignof(std::max_align_t)) {
    const std::size_t one = class_of(bytes, alignment);
    if (one != none) return try_allocate_from[one](*this, bytes);
    if (bytes > most_bytes) return nullptr;
    return upstream_ != nullptr ? upstream_->allocate(bytes, alignment)
                                : ::operator new (bytes, std::align_val_t{alignment}, std::nothrow);
  }
  HEAPLEDGER_POOL_HOT void deallocate(void* chunk, std::size_t bytes,
                                      std::size_t alignment = alignof(std::max_align_t)) {
    const std::size_t one = class_of(bytes, alignment);
    if (one == none) [[unlikely]] {
      if (upstream_ != nullptr) {
        upstream_->deallocate(chunk, bytes, alignment);
      } else {
        ::operator delete (chunk, std::align_val_t{alignment});
      }
      return;
    }
    if (__builtin_constant_p(one)) {
      deallocate_known(one, chunk, every);
    } else {
      deallocate_to[one](*this, chunk);
    }
  }

  // For who does not know the size any more: every pool is asked. False when it is of none.
  bool deallocate_if_owned(void* chunk) noexcept requires(!Options.bypass) {
    bool found = false;
    for_each_pool([&](auto& one) {
      if (found || !one.owns(chunk)) return;
      one.deallocate(chunk);
      found = true;
    });
    return found;
  }

  // The pool that allocate(Bytes, Alignment) takes from.
  template <std::size_t Bytes, std::size_t Alignment = alignof(std::max_align_t)>
  auto& pool_for() noexcept {
    constexpr std::size_t one = class_of(Bytes, Alignment);
    static_assert(one != none, "goes upstream");
    return std::get<one>(pools_);
  }
  template <class F>
  void for_each_pool(F&& call) {
    std::apply([&](auto&... one) { (call(one), ...); }, pools_);
  }
  void trim() noexcept {
    for_each_pool([](auto& one) { one.trim(); });
  }
  void reset() noexcept requires(!Options.bypass) {
    for_each_pool([](auto& one) { one.reset(); });
  }

 private:
  using classes = std::make_index_sequence<Sizes::count>;
  static constexpr classes every{};

  template <std::size_t... Class>
  static auto tuple_of(std::index_sequence<Class...>) -> std::tuple<pool_type<Class>...>;
  using pools = decltype(tuple_of(every));
  template <std::size_t... Class>
  constexpr pool_set(const char* name, std::pmr::memory_resource* upstream, std::index_sequence<Class...>)
      : pools_((static_cast<void>(Class), name)...), upstream_(upstream) {}

  // Of an object. What is asked for beyond that, libstdc++'s aligned operator new may round up to nothing.
  static constexpr std::size_t most_bytes = std::numeric_limits<std::size_t>::max() / 2;
  static constexpr std::size_t none = Sizes::count;
  HEAPLEDGER_POOL_HOT static constexpr std::size_t class_of(std::size_t bytes, std::size_t alignment) {
    if (bytes > largest || alignment > most_alignment) [[unlikely]]
      return none;
    const std::size_t one = Sizes::table[(bytes + Sizes::step - 1) / Sizes::step];
    return alignment <= least_alignment ? one
                                        : from_class[static_cast<std::size_t>(std::bit_width(alignment)) - 1][one];
  }

  static constexpr std::size_t least_alignment = alignof(pool_detail::link);
  static constexpr std::size_t most_alignment = pool_detail::most_alignment;
  // By the alignment's bit and a class: the first class from there on that is aligned so.
  template <std::size_t... Class>
  static constexpr auto make_from_class(std::index_sequence<Class...>) {
    constexpr std::array alignments{pool_type<Class>::layout::alignment...};
    std::array<std::array<std::uint8_t, Sizes::count>, std::bit_width(most_alignment)> result{};
    for (std::size_t bit = 0; bit < result.size(); ++bit) {
      std::size_t found = none;
      for (std::size_t one = Sizes::count; one-- > 0;) {
        if (alignments[one] >> bit != 0) found = one;
        result[bit][one] = static_cast<std::uint8_t>(found);
      }
    }
    return result;
  }
  static constexpr auto from_class = make_from_class(every);

  template <std::size_t... Class>
  HEAPLEDGER_POOL_HOT void* allocate_known(std::size_t one, std::size_t bytes, std::index_sequence<Class...>) {
    void* chunk = nullptr;
    (void)((one == Class && (chunk = std::get<Class>(pools_).allocate(bytes), true)) || ...);
    return chunk;
  }
  template <std::size_t... Class>
  HEAPLEDGER_POOL_HOT void deallocate_known(std::size_t one, void* chunk, std::index_sequence<Class...>) {
    (void)((one == Class && (std::get<Class>(pools_).deallocate(chunk), true)) || ...);
  }

  // The set, not the tuple in it: with all its pools in the name, 1,024 characters and more, nobody demangles it.
  template <std::size_t Class>
  static void* allocate_in(pool_set& of, std::size_t bytes) {
    return std::get<Class>(of.pools_).allocate(bytes);
  }
  template <std::size_t Class>
  static void* try_allocate_in(pool_set& of, std::size_t bytes) {
    return std::get<Class>(of.pools_).try_allocate(bytes);
  }
  template <std::size_t Class>
  static void deallocate_in(pool_set& of, void* chunk) {
    std::get<Class>(of.pools_).deallocate(chunk);
  }
  using allocate_function = void* (*)(pool_set&, std::size_t);
  using deallocate_function = void (*)(pool_set&, void*);
  template <std::size_t... Class>
  static constexpr std::array<allocate_function, Sizes::count> allocate_table(std::index_sequence<Class...>) {
    return {allocate_in<Class>...};
  }
  template <std::size_t... Class>
  static constexpr std::array<allocate_function, Sizes::count> try_allocate_table(std::index_sequence<Class...>) {
    return {try_allocate_in<Class>...};
  }
  template <std::size_t... Class>
  static constexpr std::array<deallocate_function, Sizes::count> deallocate_table(std::index_sequence<Class...>) {
    return {deallocate_in<Class>...};
  }
  static constexpr auto try_allocate_from = try_allocate_table(every);
  static constexpr auto allocate_from = allocate_table(every);
  static constexpr auto deallocate_to = deallocate_table(every);

  pools pools_;
  std::pmr::memory_resource* upstream_;
};

namespace pool_detail {
// A pool_set, or what stands in for one.
template <class T>
concept takes_sizes = requires(T set, void* chunk, std::size_t bytes) {
  chunk = set.allocate(bytes, bytes);
  set.deallocate(chunk, bytes, bytes);
};
}  // namespace pool_detail

}  // namespace heapledger
