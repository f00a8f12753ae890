#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "tool/collect/output.hpp"
#include "tool/profile/error.hpp"

namespace heapledger::collect {
namespace {

class output_test : public ::testing::Test {
 protected:
  output_test() {
    std::string pattern = ::testing::TempDir() + "outputXXXXXX";
    folder_ = ::mkdtemp(pattern.data());
  }
  ~output_test() override { std::filesystem::remove_all(folder_); }

  std::string in_folder(const std::string& name) const { return folder_ + "/" + name; }
  void make(const std::string& name) const { std::ofstream(in_folder(name)) << "x"; }
  static output_subject process(std::uint32_t pid, bool is_root = false, std::uint32_t image = 0) {
    return {.pid = pid, .program = "/usr/bin/prog", .host = "box", .start_s = 1234, .is_root = is_root, .image = image};
  }

  std::string folder_;
};

TEST_F(output_test, expands_what_it_knows) {
  EXPECT_EQ(expand("%e-%p-%h-%t-%%-%x-%", process(42)), "prog-42-box-1234-%-%x-%");
  auto hostile = process(1);
  hostile.program = "/tmp/../a b\n" + std::string(500, 'c');
  EXPECT_EQ(expand("%e", hostile).substr(0, 5), "a_b_c");
  EXPECT_LE(expand("%e", hostile).size(), 64u);
}

TEST_F(output_test, knows_what_stands_for_nothing) {
  EXPECT_EQ(unknown_placeholder("a/%e.%p-%h-%t%%.hlp"), std::nullopt);
  EXPECT_EQ(unknown_placeholder("%%x%x"), "%x");
  EXPECT_EQ(unknown_placeholder("100%"), "%");
  EXPECT_EQ(unknown_placeholder(""), std::nullopt);
}

TEST_F(output_test, has_a_default_also_in_a_folder) {
  EXPECT_EQ(output_names("", false).name_for(process(7)), "heapledger.prog.7.hlp");
  EXPECT_EQ(output_names(folder_, false).name_for(process(7)), in_folder("heapledger.prog.7.hlp"));
}

TEST_F(output_test, the_root_gets_the_name_and_children_their_pid) {
  output_names names(in_folder("out.hlp"), false);
  EXPECT_EQ(names.name_for(process(7, true)), in_folder("out.hlp"));
  EXPECT_EQ(names.name_for(process(8)), in_folder("out.8.hlp"));
  EXPECT_EQ(names.name_for(process(9)), in_folder("out.9.hlp"));
}

TEST_F(output_test, children_that_are_named_early_leave_the_name_to_the_root) {
  output_names names(in_folder("out.hlp"), false);
  EXPECT_EQ(names.name_for(process(8)), in_folder("out.8.hlp"));
  EXPECT_EQ(names.name_for(process(7, true)), in_folder("out.hlp"));
  output_names without_root(in_folder("out.hlp"), false);
  without_root.release_root_name();
  EXPECT_EQ(without_root.name_for(process(8)), in_folder("out.hlp"));
}

TEST_F(output_test, only_the_name_that_the_root_would_have_is_kept_for_it) {
  output_names names(in_folder("x.%e.hlp"), false);
  auto root = process(7, true);
  root.program = "make";
  names.expect_root(root);
  EXPECT_EQ(names.name_for(process(8)), in_folder("x.prog.hlp"));
  EXPECT_EQ(names.name_for(process(9)), in_folder("x.prog.9.hlp"));
  auto another_make = root;
  another_make.pid = 10;
  another_make.is_root = false;
  EXPECT_EQ(names.name_for(another_make), in_folder("x.make.10.hlp"));
  EXPECT_EQ(names.name_for(root), in_folder("x.make.hlp"));
}

TEST_F(output_test, a_root_that_went_on_as_another_program_finds_its_name_taken) {
  output_names names(in_folder("x.%e.hlp"), false);
  auto root = process(7, true);
  root.program = "sh";
  names.expect_root(root);
  EXPECT_EQ(names.name_for(process(8)), in_folder("x.prog.hlp"));
  EXPECT_EQ(names.name_for(process(7, true)), in_folder("x.prog.7.hlp"));
}

TEST_F(output_test, the_pid_goes_before_the_extension_of_the_file_not_of_its_folder) {
  output_names names(folder_ + "/a.b/../out", false);
  names.name_for(process(7, true));
  EXPECT_EQ(names.name_for(process(8)), folder_ + "/a.b/../out.8");
}

TEST_F(output_test, earlier_images_are_numbered) {
  output_names names(in_folder("%e.%p.hlp"), false);
  EXPECT_EQ(names.name_for(process(7, false, 1)), in_folder("prog.7-1.hlp"));
  EXPECT_EQ(names.name_for(process(7, true)), in_folder("prog.7.hlp"));
}

TEST_F(output_test, a_file_that_is_there_is_never_named_without_force) {
  make("prog.7.hlp");
  make("prog.7~1.hlp");
  EXPECT_EQ(output_names(in_folder("%e.%p.hlp"), false).name_for(process(7, true)), in_folder("prog.7~2.hlp"));
  EXPECT_EQ(output_names(in_folder("%e.%p.hlp"), true).name_for(process(7, true)), in_folder("prog.7.hlp"));
}

TEST_F(output_test, force_does_not_give_one_name_twice) {
  output_names names(in_folder("out.hlp"), true);
  names.name_for(process(7, true));
  names.name_for(process(8));
  EXPECT_EQ(names.name_for(process(8)), in_folder("out.8~1.hlp"));
}

TEST_F(output_test, devices_take_every_profile) {
  output_names names("/dev/null", false);
  EXPECT_EQ(names.name_for(process(7, true)), "/dev/null");
  EXPECT_EQ(names.name_for(process(8)), "/dev/null");
  names.check(process(0, true));
}

TEST_F(output_test, finds_out_beforehand) {
  make("taken.hlp");
  output_names(in_folder("free.hlp"), false).check(process(0, true));
  EXPECT_THROW(output_names(in_folder("taken.hlp"), false).check(process(0, true)), input_error);
  output_names(in_folder("taken.hlp"), true).check(process(0, true));
  EXPECT_THROW(output_names(in_folder("nofolder/x.hlp"), false).check(process(0, true)), input_error);
  EXPECT_THROW(output_names(in_folder("nofolder/"), false), input_error);
  EXPECT_THROW(output_names(in_folder("taken.hlp/x"), false).check(process(0, true)), input_error);
  EXPECT_THROW(output_names(in_folder(std::string(300, 'x')), true).check(process(0, true)), input_error);
  EXPECT_THROW(output_names("/proc/x.hlp", false).check(process(0, true)), input_error);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_), {}), 1);  // it leaves nothing behind
  std::filesystem::create_symlink("taken.hlp", in_folder("link.hlp"));
  EXPECT_THROW(output_names(in_folder("link.hlp"), false).check(process(0, true)), input_error);
  output_names(in_folder("link.hlp"), true).check(process(0, true));
}

}  // namespace
}  // namespace heapledger::collect
