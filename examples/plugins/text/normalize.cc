// Normal forms of Unicode texts, and texts without differences of case.
//
//   CaseFoldUTF8(input)    input [...] string -> output of the same shape: NFKC_Casefold, which
//                          also removes what is ignorable
//   NormalizeUTF8(input)   the same by |normalization_form|: NFC, NFD, NFKC or NFKD, in any case
//
// ICU has both as Normalizer2; how it treats bytes that are no UTF-8 is how the ops do.
#include <unicode/bytestream.h>
#include <unicode/normalizer2.h>

#include <algorithm>

#include "kernel.hpp"

namespace text {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

void normalize(const icu::Normalizer2& normalizer, Run& run) {
  const Input& input = run.input(0);
  TF_TString* output = run.allocate<TF_TString>(0, input.shape());
  for (int64_t i = 0; i < input.count(); ++i) {
    const std::string_view text = input.text(i);
    if (text.size() > INT32_MAX) {
      refuse("input[" + std::to_string(i) + "] has " + std::to_string(text.size()) +
             " bytes, must have at most 2147483647");
    }
    std::string normal;
    icu::StringByteSink<std::string> sink(&normal);
    UErrorCode error = U_ZERO_ERROR;
    normalizer.normalizeUTF8(0, icu::StringPiece(text.data(), static_cast<int32_t>(text.size())),
                             sink, nullptr, error);
    if (U_FAILURE(error)) {
      throw Failure{TF_INTERNAL, std::string("ICU answers ") + u_errorName(error) +
                                     " for input[" + std::to_string(i) + "]"};
    }
    Run::set(&output[i], normal);
  }
}

using Getter = const icu::Normalizer2* (*)(UErrorCode&);

const icu::Normalizer2* open(Getter get) {
  UErrorCode error = U_ZERO_ERROR;
  const icu::Normalizer2* normalizer = get(error);
  if (U_FAILURE(error)) {
    throw Failure{TF_INTERNAL, std::string("ICU has no such normalizer: ") + u_errorName(error)};
  }
  return normalizer;  // ICU's, for the life of the process
}

class CaseFold {
 public:
  explicit CaseFold(const Attributes&)
      : normalizer_(open(icu::Normalizer2::getNFKCCasefoldInstance)) {}
  void run(Run& run) const { normalize(*normalizer_, run); }

 private:
  const icu::Normalizer2* normalizer_;
};

class Normalize {
 public:
  explicit Normalize(const Attributes& attributes)
      : normalizer_(open(getter(attributes.text("normalization_form")))) {}
  void run(Run& run) const { normalize(*normalizer_, run); }

 private:
  static Getter getter(const std::string& form) {
    std::string name = form;
    std::transform(name.begin(), name.end(), name.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c; });
    if (name == "NFC") return icu::Normalizer2::getNFCInstance;
    if (name == "NFD") return icu::Normalizer2::getNFDInstance;
    if (name == "NFKC") return icu::Normalizer2::getNFKCInstance;
    if (name == "NFKD") return icu::Normalizer2::getNFKDInstance;
    refuse("normalization_form is " + quoted(form) + ", must be NFC, NFD, NFKC or NFKD");
  }

  const icu::Normalizer2* normalizer_;
};

}  // namespace

void register_normalize() {
  register_op({"CaseFoldUTF8", {"input: string"}, {"output: string"}, {}, as_input<0>});
  register_kernel<CaseFold>("CaseFoldUTF8", {});
  register_op({"NormalizeUTF8",
               {"input: string"},
               {"output: string"},
               {"normalization_form: string"},
               as_input<0>});
  register_kernel<Normalize>("NormalizeUTF8", {});
}

}  // namespace text
