// A memory resource for std::pmr that charges one scope. Part of scope.hpp.
#pragma once

#include <heapledger/scope.hpp>

#include <cstddef>
#include <memory_resource>

namespace heapledger {

// A memory resource whose memory is charged to one scope, wherever it is asked from. `upstream` must live as long.
class scope_resource : public std::pmr::memory_resource {
 public:
  explicit scope_resource(scope charged,
                          std::pmr::memory_resource* upstream = std::pmr::get_default_resource()) noexcept
      : scope_(charged), upstream_(upstream) {}

 private:
  void* do_allocate(std::size_t bytes, std::size_t alignment) override {
    const enter inside(scope_);
    return upstream_->allocate(bytes, alignment);
  }
  void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
    upstream_->deallocate(block, bytes, alignment);
  }
  bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
#ifdef __cpp_rtti
    const auto* same = dynamic_cast<const scope_resource*>(&other);
    return same != nullptr && same->upstream_->is_equal(*upstream_);
#else
    return this == &other;
#endif
  }

  scope scope_;
  std::pmr::memory_resource* upstream_;
};

}  // namespace heapledger
