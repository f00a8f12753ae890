// Field numbers of pprof's profile.proto, as far as they are written.
#pragma once

#include <cstdint>

namespace heapledger::exports::pprof {

enum profile_field : std::uint32_t {
  profile_sample_type = 1,
  profile_sample = 2,
  profile_mapping = 3,
  profile_location = 4,
  profile_function = 5,
  profile_string_table = 6,
  profile_time_nanos = 9,
  profile_duration_nanos = 10,
  profile_period_type = 11,
  profile_period = 12,
  profile_comment = 13,
  profile_default_sample_type = 14,
};
enum value_type_field : std::uint32_t { value_type_type = 1, value_type_unit = 2 };
enum sample_field : std::uint32_t { sample_location_id = 1, sample_value = 2, sample_label = 3 };
enum label_field : std::uint32_t { label_key = 1, label_str = 2 };
enum mapping_field : std::uint32_t {
  mapping_id = 1,
  mapping_memory_start = 2,
  mapping_memory_limit = 3,
  mapping_filename = 5,
  mapping_build_id = 6,
  mapping_has_functions = 7,
  mapping_has_filenames = 8,
  mapping_has_line_numbers = 9,
  mapping_has_inline_frames = 10,
};
enum location_field : std::uint32_t {
  location_id = 1,
  location_mapping_id = 2,
  location_address = 3,
  location_line = 4,
};
enum line_field : std::uint32_t { line_function_id = 1, line_line = 2 };
enum function_field : std::uint32_t {
  function_id = 1,
  function_name = 2,
  function_system_name = 3,
  function_filename = 4,
};

}  // namespace heapledger::exports::pprof
