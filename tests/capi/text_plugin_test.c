// The ops of the plug-in of examples/plugins/text that need no model: what they answer, as
// TensorFlow Text 2.21 does (tests/oracle/text_plugin_oracle.py compares many more), and what they
// refuse. The plug-in is loaded as a program would load it; ops stay registered for the life of the
// process. Those of SentencePiece and the vocabulary are in text_model_test.c.
#include "capi/text_kit.h"

#define CHECK_ALL(cases) \
  for (size_t i = 0; i < sizeof(cases) / sizeof *(cases); ++i) text_check(&(cases)[i])

static void test_normalize(void** state) {
  static const text_case_t kCases[] = {
      {"CaseFoldUTF8", "sStra\u00dfe,\u212b,A\u00ad\u0130", "", "strasse,\u00e5,ai\u0307", TF_OK},
      {"CaseFoldUTF8", "s", "", "", TF_OK},
      {"NormalizeUTF8", "se\u0301,\ufb01", "normalization_form=SNFC", "\u00e9,\ufb01", TF_OK},
      {"NormalizeUTF8", "s\u00e9,\ufb01", "normalization_form=Snfd", "e\u0301,\ufb01", TF_OK},
      {"NormalizeUTF8", "se\u0301,\ufb01", "normalization_form=SNFKC", "\u00e9,fi", TF_OK},
      {"NormalizeUTF8", "s\u00e9,\u00bd", "normalization_form=SNFKD", "e\u0301,1\u20442", TF_OK},
      {"NormalizeUTF8", "sa", "normalization_form=SNFX",
       "NormalizeUTF8 cannot be made for node 'node': normalization_form is 'NFX', must be NFC, "
       "NFD, NFKC or NFKD", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

// "ab  c" and " d".
static void test_whitespace(void** state) {
  static const text_case_t kCases[] = {
      {"WhitespaceTokenizeWithOffsets", "i97,98,32,12288,99,32,100 l0,5,7", "",
       "97,98,99,100 | 0,2,3,4 | 0,4,1 | 2,5,2 | 0,2,3", TF_OK},
      {"WhitespaceTokenizeWithOffsets", "i i0", "", " | 0 |  |  | 0", TF_OK},
      {"WhitespaceTokenizeWithOffsets", "i97 l0,2", "",
       "node 'node': input_splits ends with 2, must end with 1", TF_INVALID_ARGUMENT},
      {"WhitespaceTokenizeWithOffsets", "i97 l1,1", "", "input_splits[0] is 1, must be 0",
       TF_INVALID_ARGUMENT},
      {"WhitespaceTokenizeWithOffsets", "i97,98 l0,2,1,2", "",
       "input_splits[2] is 1, must be at least 2", TF_INVALID_ARGUMENT},
      {"WhitespaceTokenizeWithOffsets", "i97 l", "", "input_splits is empty, must have an element",
       TF_INVALID_ARGUMENT},
      {"WhitespaceTokenizeWithOffsets", "[1x1]i97 l0,1", "", "rank 1", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

// "aж. я" and "1 2".
static void test_scripts(void** state) {
  static const text_case_t kCases[] = {
      {"UnicodeScriptTokenizeWithOffsets", "i97,1078,46,32,1103,49,32,50 i0,5,8", "",
       "97,1078,46,1103,49,50 | 0,1,2,3,4,6 | 0,1,2,4,0 | 1,2,3,5,3 | 0,4,5", TF_OK},
      {"UnicodeScriptTokenizeWithOffsets", "i97,1078,46,32,1103,49,32,50 l0,5,8",
       "keep_whitespace=B1",
       "97,1078,46,32,1103,49,32,50 | 0,1,2,3,4,5,6,7,8 | 0,1,2,3,4,0,1,2 | 1,2,3,4,5,1,2,3 | "
       "0,5,8", TF_OK},
      {"UnicodeScriptTokenizeWithOffsets", "i97,98 l0,3", "",
       "input_splits ends with 3, must end with 2", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

static void test_regex_split(void** state) {
  static const text_case_t kCases[] = {
      {"RegexSplitWithOffsets", "shello_there,_a__b, S(\\s) S", "",
       "hello,there,a,b | 0,6,1,4 | 5,11,2,5 | 0,2,4,4", TF_OK},
      {"RegexSplitWithOffsets", "sa;b S([;]) S;", "", "a,;,b | 0,1,2 | 1,2,3 | 0,3", TF_OK},
      {"RegexSplitWithOffsets", "sa;b_c S([;_]) S;", "",
       "a,;,b,c | 0,1,2,4 | 1,2,3,5 | 0,4", TF_OK},
      // The first group is the delimiter, and the search goes on behind the match.
      {"RegexSplitWithOffsets", "sxabcy Sa(b)c S.", "", "xa,b,y | 0,2,4 | 2,3,5 | 0,3", TF_OK},
      {"RegexSplitWithOffsets", "sa_b S\\s S", "", "a b | 0 | 3 | 0,1", TF_OK},
      {"RegexSplitWithOffsets", "sa_b S( S", "", "delim_regex_pattern is '(': missing )",
       TF_INVALID_ARGUMENT},
      {"RegexSplitWithOffsets", "sa_b S(b) S[", "", "keep_delim_regex_pattern is '['",
       TF_INVALID_ARGUMENT},
      {"RegexSplitWithOffsets", "sa_b S(b*) S", "",
       "'(b*)', which matches the empty text, must match at least one character",
       TF_INVALID_ARGUMENT},
      {"RegexSplitWithOffsets", "sa_b s(b) S", "", "rank 0", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

static void test_split_merge(void** state) {
  static const text_case_t kCases[] = {
      {"SplitMergeTokenizeWithOffsets", "sab_c,\u4f60\u597d i0,1,0,1,0,1 i0,4,6", "",
       "ab,c,\u4f60\u597d | 0,2,3 | 0,3,0 | 2,4,6", TF_OK},
      {"SplitMergeTokenizeWithOffsets", "sab_c i0,1,0,1 i0,4", "force_split_at_break_character=B0",
       "abc | 0,1 | 0 | 4", TF_OK},
      {"SplitMergeTokenizeWithOffsets", "sab,c i0,1 i0,1,2", "",
       "labels has 1 elements for input_values[0], must have one for each character",
       TF_INVALID_ARGUMENT},
      {"SplitMergeTokenizeWithOffsets", "sab,c i0,1 i0,2", "",
       "row_splits has 2 elements, must have 3", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

// Three steps of two states. The best states are 1, 0, 1; but 0 may not follow 1.
static void test_sequences(void** state) {
#define FLAGS(viterbi) "use_viterbi=B" viterbi " use_log_space=B1 use_start_and_end_states=B0"
#define SCORES "[1x3x2]f0,1,3,0,0,1 "
  static const text_case_t kCases[] = {
      {"ConstrainedSequence", SCORES "i3 [0x0]b [0x0]f", FLAGS("1"), "1,0,1 | 0,3", TF_OK},
      {"ConstrainedSequence", SCORES "i3 [2x2]b1,1,0,1 [0x0]f", FLAGS("1"), "0,0,1 | 0,3", TF_OK},
      {"ConstrainedSequence", SCORES "l3 [2x2]b1,1,0,1 [0x0]f", FLAGS("0"), "1,1,1 | 0,3", TF_OK},
      {"ConstrainedSequence", SCORES "i2 [2x2]b0,0,0,0 [0x0]f", FLAGS("1"), "-1,-1 | 0,2", TF_OK},
      // Of equal totals the last state wins.
      {"ConstrainedSequence", "[1x2x2]f1,1,1,1 i2 [0x0]b [0x0]f", FLAGS("1"), "1,1 | 0,2", TF_OK},
      {"ConstrainedSequence", "[1x2x2]f1,1,1,1 i2 [0x0]b [0x0]f", FLAGS("0"), "1,1 | 0,2", TF_OK},
      {"ConstrainedSequence", SCORES "i0 [0x0]b [0x0]f", FLAGS("1"), " | 0,0", TF_OK},
      {"ConstrainedSequence", SCORES "i4 [0x0]b [0x0]f", FLAGS("1"),
       "sequence_lengths[0] is 4, must be between 0 and the number of steps, 3",
       TF_INVALID_ARGUMENT},
      {"ConstrainedSequence", SCORES "i-1 [0x0]b [0x0]f", FLAGS("0"),
       "sequence_lengths[0] is -1", TF_INVALID_ARGUMENT},
      {"ConstrainedSequence", SCORES "i1,1 [0x0]b [0x0]f", FLAGS("1"),
       "sequence_lengths has 2 elements, must have one for each of the 1 sequences",
       TF_INVALID_ARGUMENT},
      {"ConstrainedSequence", SCORES "i1 [1x2]b1,1 [0x0]f", FLAGS("1"),
       "allowed_transitions has 1 rows, must have 2", TF_INVALID_ARGUMENT},
      {"ConstrainedSequence", "f1 i1 [0x0]b [0x0]f", FLAGS("1"),
       "scores has rank 1, must have rank 2 or 3", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

static void test_rouge(void** state) {
  static const text_case_t kCases[] = {
      {"RougeL", "sthe,cat,sat l0,3 sthe,cat,was,there l0,4 F0.5", "",
       "0.5714 | 0.6667 | 0.5", TF_OK},
      {"RougeL", "i1,2,3 i0,3,3 i1,3 i0,2,2 F-1", "", "0.7429,0 | 0.6667,0 | 1,0", TF_OK},
      // An element is part of the subsequence once.
      {"RougeL", "i1,1 l0,2 i1 l0,1 F0.5", "", "0.6667 | 0.5 | 1", TF_OK},
      {"RougeL", "i1 l0,1 i1 l0,1 F1.5", "", "alpha is 1.500000, must be at most 1",
       TF_INVALID_ARGUMENT},
      {"RougeL", "i1 l0,1 i1 l0,1,1 F0.5", "", "", TF_INVALID_ARGUMENT},
      {"RougeL", "i1 l0,1 i1 l0,9 F0.5", "", "ref_splits ends with 9, must end with 1",
       TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

// He agreed ... ! ( Yes . ) No
static void test_sentences(void** state) {
#define UTF8 "input_encoding=SUTF-8"
  static const text_case_t kCases[] = {
      {"SentenceFragments",
       "l9 l0,1,2,3,4,5,6,7,8 l1,2,3,4,5,6,7,8,9 sHe,agreed,...,!,(,Yes,.,),No "
       "l0,0,0,0,0,0,0,0,0", UTF8, "0,4,8 | 4,8,9 | 3,13,0 | 3,6,-1 | 3", TF_OK},
      {"SentenceFragments", "l0 l l s l", UTF8, " |  |  |  | 0", TF_OK},
      {"SentenceFragments", "l2 l0 l0 sa l0", UTF8,
       "token_start has 1 elements, must have 2, the sum of row_lengths", TF_INVALID_ARGUMENT},
      {"SentenceFragments", "l-1,2 l0 l0 sa l0", UTF8,
       "row_lengths[0] is -1, must be a number of tokens", TF_INVALID_ARGUMENT},
      {"SentenceFragments", "l1 l0 l0 sa l0", "input_encoding=SUTF-5",
       "input_encoding is 'UTF-5', must name an encoding that ICU knows", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

// Each node has its best arc from the next one, which is a cycle; [target, source], roots on the
// diagonal.
static void test_trees(void** state) {
#define CYCLE "[1x3x3]f1,9,2,2,2,9,9,2,3"
  static const text_case_t kCases[] = {
      {"MaxSpanningTree", "i3 " CYCLE, "", "21 | 1,2,2", TF_OK},
      {"MaxSpanningTree", "i3 " CYCLE, "forest=B1", "21 | 1,2,2", TF_OK},
      // The way into a cycle that costs least is not the best arc into it.
      {"MaxSpanningTree", "i3 [1x3x3]fnan,9,6,5,nan,3,nan,nan,1", "", "13 | 1,2,2", TF_OK},
      {"MaxSpanningTree", "i2 [1x2x2]f5,1,1,6", "", "7 | 1,1", TF_OK},
      {"MaxSpanningTree", "i2 [1x2x2]f5,1,1,6", "forest=B1", "11 | 0,1", TF_OK},
      {"MaxSpanningTree", "i1 [1x2x2]i5,1,1,6", "", "5 | 0,-1", TF_OK},
      {"MaxSpanningTree", "i2 [1x2x2]f1,inf,nan,2", "", "Infeasible digraph",
       TF_FAILED_PRECONDITION},
      {"MaxSpanningTree", "i0 [1x2x2]f1,1,1,1", "",
       "num_nodes[0] is 0, must be between 1 and 2", TF_INVALID_ARGUMENT},
      {"MaxSpanningTree", "i1 [1x2x3]f1,1,1,1,1,1", "",
       "scores has 2 rows and 3 columns, must have as many of both", TF_INVALID_ARGUMENT},
      {"MaxSpanningTree", "i1 [2x1x1]f1,1", "", "num_nodes has 1 elements, must have 2",
       TF_INVALID_ARGUMENT},
      {"MaxSpanningTree", "i2 [1x2x2]i2147483647,1,2147483647,1", "",
       "must be an int32", TF_INVALID_ARGUMENT},
  };
  CHECK_ALL(kCases);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_normalize),   cmocka_unit_test(test_whitespace),
      cmocka_unit_test(test_scripts),     cmocka_unit_test(test_regex_split),
      cmocka_unit_test(test_split_merge), cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_rouge),       cmocka_unit_test(test_sentences),
      cmocka_unit_test(test_trees),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
