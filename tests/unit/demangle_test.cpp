#include "tool/symbolize/demangle.hpp"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "tool/symbolize/demangle_bound.hpp"

namespace heapledger {
namespace {

struct example {
  const char* mangled;
  const char* readable;
};

class demangled : public ::testing::TestWithParam<example> {};
TEST_P(demangled, reads_as_written) {
  EXPECT_EQ(demangle(GetParam().mangled), GetParam().readable);
}

INSTANTIATE_TEST_SUITE_P(
    cpp, demangled,
    ::testing::Values(example{"_ZN6shapes4gridIdE2atEmm", "shapes::grid<double>::at(unsigned long, unsigned long)"},
                      example{"_ZN12_GLOBAL__N_13fooEv", "(anonymous namespace)::foo()"},
                      example{"_ZZ4mainENKUliE_clEi", "main::{lambda(int)#1}::operator()(int) const"},
                      example{"_Znwm", "operator new(unsigned long)"},
                      // A requires-clause that not every demangler reads, or none.
                      example{"_ZNSt4pairIPiiEC2EvQaa26is_default_constructible_vIT_E26is_default_constructible_vIT0_E",
                              "std::pair<int*, int>::pair()"},
                      example{
                          "_ZSt12construct_atIiJEQaant20is_unbounded_array_vIT_ErqXgsnwcvPvLi0E_S0_pispcl7declvalIT0_"
                          "EEEEEPS0_S3_DpOS1_",
                          "std::construct_at<int>"},
                      // Looks like Rust, but what ends it is no hash.
                      example{"_ZN3foo17h0123456789abcdeg", "_ZN3foo17h0123456789abcdeg"},
                      example{"_ZN3foo17h0123456789abcdegEv", "foo::h0123456789abcdeg()"}));

// As clang 19 writes them, with declarations of template parameters and tags on constructors. What a demangler that
// reads them says of the rest is its own matter.
TEST(demangle, what_older_demanglers_cannot_read_has_a_name) {
  for (const auto& [mangled, part] : {
           example{"_ZN3app2a8ITnDaLi3EEEPiv", "app::a8<3>"},
           example{"_ZN3app2a1ITkNS_3NumEiEEPT_S1_", "int* app::a1<int>(int)"},
           example{"_ZN3app2a5ITkNS_5Same2IiEEiEEPT_S2_", "app::a5<int>"},
           example{"_ZN3app2a2IiTnNSt9enable_ifIXsr3stdE13is_integral_vIT_EEiE4typeELi0EEEPS2_S2_", "app::a2<int, "},
           example{
               "_ZN3CLI6detail12lexical_castIbTnNSt9enable_ifIXeqsr15classify_objectIT_EE5valueLNS0_15object_"
               "categoryE8EENS0_7enablerEE4typeELS5_0EEEbRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEERS3_",
               "CLI::detail::lexical_cast<bool, "},
           example{"_ZNSt4pairIKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEESt8optionalISt5tupleIJiS5_EEEEC2IJ"
                   "OS5_EJLm0EEJETpTnmJEEERS8_IJDpT_EERS8_IJDpT1_EESt12_Index_tupleIJXspT0_EEESM_IJXspT2_EEE",
                   "::pair<"},
           example{"_ZNKSt3__16ranges6__size4__fnclB8ne190107ITkNS1_13__member_sizeERKNS_6vectorIiNS_9allocatorIiEEEEEE"
                   "DkNS_14__integer_likeEOT_",
                   "std::__1::ranges::__size::__fn::operator()"},
           example{"_ZN3app3boxIiEC2B8ne190107ILi0EEEPKc", "app::box<int>::box"},
       })
    EXPECT_NE(demangle(mangled).find(part), std::string::npos) << demangle(mangled);
  for (const char* none : {"_ZN5TnLi06TnLi0EIiEvTnLi0E", "_ZN1aITn", "_ZN1aITnN1bE", "_ZN1aITtTyTyiEEvv"})
    EXPECT_EQ(demangle(none), none);
}

INSTANTIATE_TEST_SUITE_P(kept, demangled,
                         ::testing::Values(example{"", ""}, example{"main", "main"}, example{"_Z", "_Z"},
                                           example{"_R", "_R"}, example{"_ZN", "_ZN"},
                                           example{"_Znonsense", "_Znonsense"}, example{"_RNvC", "_RNvC"},
                                           example{"i", "i"},
                                           example{"_ZN99999999999999999999a", "_ZN99999999999999999999a"}));

// Names that rustc 1.95 wrote; what they read as was checked against c++filt of binutils 2.40.
INSTANTIATE_TEST_SUITE_P(
    rust_legacy, demangled,
    ::testing::Values(
        example{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
        example{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE.llvm.123", "core::fmt::Write::write_fmt"},
        example{"_ZN60_$LT$r..Ci$LT$T$GT$$u20$as$u20$r..Shape$GT$4area17h5c2d5a8b8e1f7a60E",
                "_ZN60_$LT$r..Ci$LT$T$GT$$u20$as$u20$r..Shape$GT$4area17h5c2d5a8b8e1f7a60E"},  // a wrong length
        example{"_ZN43_$LT$r..Ci$LT$T$GT$$u20$as$u20$r..Shape$GT$4area17h5c2d5a8b8e1f7a60E",
                "<r::Ci<T> as r::Shape>::area"},
        example{"_ZN1r4main28_$u7b$$u7b$closure$u7d$$u7d$17h5c2d5a8b8e1f7a60E", "r::main::{{closure}}"},
        example{"_ZN12a$RF$$C$b$BP$17h5c2d5a8b8e1f7a60E", "_ZN12a$RF$$C$b$BP$17h5c2d5a8b8e1f7a60E"},
        example{"_ZN13a$RF$$C$b$BP$17h5c2d5a8b8e1f7a60E", "a&,b*"}));

INSTANTIATE_TEST_SUITE_P(
    rust_v0, demangled,
    ::testing::Values(
        example{"_RINvCs6GmmlP4bgsG_1r3cstKb1_Kc71_Kln7_EB2_", "r::cst::<true, 'q', -7>"},
        example{"_RINvCs6GmmlP4bgsG_1r5applyNCNvB2_4mains0_0EB2_", "r::apply::<r::main::{closure#2}>"},
        example{"_RINvMNtNtCsgEmfK2I1SDS_4core3fmt2rtNtB3_8Argument11new_displaydECs6GmmlP4bgsG_1r",
                "<core::fmt::rt::Argument>::new_display::<f64>"},
        example{
            "_RINvMNtCsgEmfK2I1SDS_4core6optionINtB3_6OptionReE11map_or_elseNtNtCslNYArtu3iFV_5alloc6string6StringNCN"
            "vNtB12_3fmt6format0NvYeNtNtB12_6borrow7ToOwned8to_ownedECs6GmmlP4bgsG_1r",
            "<core::option::Option<&str>>::map_or_else::<alloc::string::String, alloc::fmt::format::{closure#0}, "
            "<str as alloc::borrow::ToOwned>::to_owned>"},
        example{
            "_RINvCs6GmmlP4bgsG_1r3genINtNtCsgEmfK2I1SDS_4core6option6OptionINtNtCslNYArtu3iFV_5alloc3vec3VecTldcEEEI"
            "NtNtB13_6string6StringEB2_",
            "_RINvCs6GmmlP4bgsG_1r3genINtNtCsgEmfK2I1SDS_4core6option6OptionINtNtCslNYArtu3iFV_5alloc3vec3VecTldcEEEI"
            "NtNtB13_6string6StringEB2_"},  // one letter too many
        example{
            "_RINvCs6GmmlP4bgsG_1r3genINtNtCsgEmfK2I1SDS_4core6option6OptionINtNtCslNYArtu3iFV_5alloc3vec3VecTldcEEEN"
            "tNtB13_6string6StringEB2_",
            "r::gen::<core::option::Option<alloc::vec::Vec<(i32, f64, char)>>, alloc::string::String>"},
        // RFC 2603's own examples.
        example{"_RNvNtCs1234_7mycrate3foo3bar", "mycrate::foo::bar"},
        example{"_RNvMNtCs1234_7mycrate3fooNtB2_3Foo3bar", "<mycrate::foo::Foo>::bar"},
        example{"_RINvNtCsfDBl8rBLEEc_7mycrate3foo3barFUKCRhOeEuE",
                "mycrate::foo::bar::<unsafe extern \"C\" fn(&u8, *mut str)>"},
        example{"_RINvCs1_1a1bDNtCs1_1c1dp1eAhj10_EL_E", "a::b::<dyn c::d<e = [u8; 16]>>"}));

// As g++ 12 writes them, and clang 22.
TEST(demangle, the_body_of_a_coroutine_is_called_like_the_coroutine) {
  EXPECT_EQ(coroutine_of("_Z5plainPZ5plainvE15_Z5plainv.Frame.actor"), "_Z5plainv");
  EXPECT_EQ(coroutine_of("_ZN3app5serveEPZNS_5serveERNS_4connEiE31_ZN3app5serveERNS_4connEi.Frame.destroy"),
            "_ZN3app5serveERNS_4connEi");
  EXPECT_EQ(coroutine_of("_Z5plainPZ5plainvE15_Z5plainv.Frame.actor.cold"), "_Z5plainv");
  EXPECT_EQ(coroutine_of("_Z5plainPZ5plainvE14_Z5plainv.Frame.actor"), "");
  for (const char* of_clang : {".resume", ".destroy", ".cleanup", ".resume.cold"})
    EXPECT_EQ(coroutine_of("_ZN3app5serveEi" + std::string(of_clang)), "_ZN3app5serveEi");
  EXPECT_EQ(coroutine_of("serve.resume"), "");
  for (const char* other : {"", "main", "_Z5plainv", "_Z5plainv.cold", ".Frame.", "_Z.Frame.", "15_Z5plainv.Frame"})
    EXPECT_EQ(coroutine_of(other), "") << other;
}

TEST(demangle, a_long_name_stays) {
  const std::string identifier(mangled_name_limit_bytes, 'a');
  const auto name = "_Z" + std::to_string(identifier.size()) + identifier + "v";
  EXPECT_EQ(demangle(name), name);
}

TEST(demangle, deep_nesting_stays_or_is_read_but_never_crashes) {
  for (const char* unit : {"N",  "I",  "1aI", "P",     "F",  "X",  "DpT_",           "cv",     "L_Z",        "NSt",
                           "sr", "Ul", "TnN", "TnXcl", "Tt", "Tp", "TnNSt1aIXsr1bE", "TnPLPN", "TnN1aEL1bE", "C1B1a"}) {
    std::string name = "_Z1f";
    while (name.size() + 4 < mangled_name_limit_bytes) name += unit;
    demangle(name);
  }
  for (const char* unit : {"I", "T", "R", "FK", "M", "X", "Y", "NvNv", "S", "D", "FG_"}) {
    std::string name = "_RI";
    while (name.size() + 4 < mangled_name_limit_bytes) name += unit;
    EXPECT_EQ(demangle(name), name);
  }
}

// Each argument repeats the one before it twice: the text doubles with every ten characters.
std::string doubling_name(int steps) {
  const auto number = [](int value) {
    std::string text;
    for (; value > 0; value /= 36) text.insert(text.begin(), "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % 36]);
    return text;
  };
  // 1aIiiE is S_ (a) and S0_ (a<int, int>); then each 1aI..E would repeat the template by S_.
  std::string name = "_Z1f1aIiiE";
  for (int i = 0; i < steps; ++i) {
    const auto last = "S" + number(i) + (i == 0 ? "0_" : "_");
    name.append("S_I").append(last).append(last).append("E");
  }
  return name;
}

TEST(demangle, a_small_name_that_would_fill_the_memory_stays) {
  EXPECT_NE(demangle(doubling_name(3)), doubling_name(3));
  EXPECT_EQ(demangle(doubling_name(60)), doubling_name(60));
  EXPECT_EQ(demangle(doubling_name(1000)), doubling_name(1000));
}

TEST(demangle, a_rust_name_that_would_fill_the_memory_stays) {
  // A tuple of two references to the tuple before it.
  std::string name = "INvC1a1bTuuE";
  std::string target = "7_";
  const auto base62 = [](std::size_t value) {
    std::string text;
    for (value -= 1; value > 0 || text.empty(); value /= 62)
      text.insert(text.begin(), "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"[value % 62]);
    return text + "_";
  };
  std::size_t last = name.size() - 4;
  for (int i = 0; i < 100; ++i) {
    const auto here = name.size();
    name.append("TB").append(base62(last)).append("B").append(base62(last)).append("E");
    last = here;
  }
  name = "_R" + name + "E";
  EXPECT_EQ(demangle(name), name);
  EXPECT_EQ(demangle("_RINvC1a1bTuuETB7_B7_EE"), "a::b::<((), ()), (((), ()), ((), ()))>");
}

TEST(demangle, broken_names_never_crash) {
  const char* const seeds[] = {
      "_ZNSt6vectorIPN6shapes5shapeESaIS2_EE17_M_realloc_insertIJRKS2_EEEvN9__gnu_cxx17__normal_iteratorIPS2_S4_"
      "EEDpOT_",
      "_RINvMNtCsgEmfK2I1SDS_4core6optionINtB3_6OptionReE11map_or_elseNtNtCslNYArtu3iFV_5alloc6string6StringNCNvNtB12_"
      "3fmt6format0NvYeNtNtB12_6borrow7ToOwned8to_ownedECs6GmmlP4bgsG_1r",
      "_ZN43_$LT$r..Ci$LT$T$GT$$u20$as$u20$r..Shape$GT$4area17h5c2d5a8b8e1f7a60E"};
  std::mt19937 random(7);
  for (const std::string seed : seeds) {
    for (std::size_t length = 0; length <= seed.size(); ++length) demangle(seed.substr(0, length));
    for (int i = 0; i < 20'000; ++i) {
      auto name = seed;
      for (int k = 0; k < 3; ++k) name[2 + random() % (name.size() - 2)] = seed[random() % seed.size()];
      EXPECT_LE(demangle(name).size(), demangled_name_limit_bytes);
    }
  }
}

TEST(demangle_bound, is_above_the_real_length) {
  for (const char* name : {"_ZN6shapes4gridIdE2atEmm", "_Znwm", "_ZSt4cout", "_ZNSsC1Ev",
                           "_ZNSt6vectorIPN6shapes5shapeESaIS2_EE17_M_realloc_insertIJRKS2_EEEvN9__gnu_cxx17__normal_"
                           "iteratorIPS2_S4_EEDpOT_",
                           "_ZN2wi3addI16generic_wide_intI22fixed_wide_int_storageILi128EEES4_EENS_13binary_traitsIT_"
                           "T0_XsrNS_10int_traitsI"
                           "S6_EE14precision_typeEXsrNS8_IS7_EE14precision_typeEE11result_typeERKS6_RKS7_"}) {
    const auto bound = symbols::demangled_bound_bytes(name);
    EXPECT_GE(bound, demangle(name).size()) << name;
    EXPECT_LT(bound, 1u << 20) << name;
  }
  EXPECT_GT(symbols::demangled_bound_bytes(doubling_name(60)), std::uint64_t{1} << 50);
}

}  // namespace
}  // namespace heapledger
