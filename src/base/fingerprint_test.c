// Answers of TensorFlow for lengths on both sides of each way. Its buckets are below INT64_MAX, so
// two of the hashes are compared in that remainder.
#include "base/fingerprint.h"

#include "base/test.h"

static const struct {
  size_t size;
  uint64_t farm, murmur, keyed;
} kAnswers[] = {
    {0, UINT64_C(0x9ae16a3b2f90404f), UINT64_C(0x01769421199f9e3c), UINT64_C(0x0c5254ec1f1e0def)},
    {1, UINT64_C(0x06b7a3b96b8624fe), UINT64_C(0x7d7e80a5e6cccb9e), UINT64_C(0x59bcada034c6a7b4)},
    {3, UINT64_C(0x8ec4504a3b4e7cb8), UINT64_C(0x64868b24b6b28b96), UINT64_C(0x533b80a0c4f49636)},
    {4, UINT64_C(0xf94f6bebc4fae7f5), UINT64_C(0x529d51576007fd00), UINT64_C(0x313e7e4d335d96a8)},
    {7, UINT64_C(0x34515d79376ae8a3), UINT64_C(0x7f6cc6c673a88783), UINT64_C(0x240fcd4954109a17)},
    {8, UINT64_C(0xdccabd0fe4423212), UINT64_C(0x20e741ade5097924), UINT64_C(0x1480e90eb12c2b45)},
    {9, UINT64_C(0xed1f1475cf26121f), UINT64_C(0x487d556af70a9839), UINT64_C(0x081db8453b8be616)},
    {16, UINT64_C(0x92ff3843d42ddd23), UINT64_C(0x152cdf169796801d), UINT64_C(0x022f8a1dc58c9de7)},
    {17, UINT64_C(0x9a03982056c41163), UINT64_C(0x3be30b4e30ad1f36), UINT64_C(0x6b17ebb514ed76e0)},
    {32, UINT64_C(0x701b95fe2e7abbe8), UINT64_C(0x18a3dbedde49cc10), UINT64_C(0x3496a60d4d6d390b)},
    {33, UINT64_C(0xcb41fe5ac42bf986), UINT64_C(0x5af7968ed7900ee2), UINT64_C(0x6aebda9df3aa7681)},
    {64, UINT64_C(0x20617d32db8465a7), UINT64_C(0x302cfd12f904a32d), UINT64_C(0x17a1a656c21230fa)},
    {65, UINT64_C(0xd83fd4711f0801bb), UINT64_C(0x610236a088b1d535), UINT64_C(0x6c5399cff97855f3)},
    {128, UINT64_C(0xc6da9d1d7c87cf90), UINT64_C(0x67a25f0bccfc91a1), UINT64_C(0x216b66c02ca99de0)},
    {129, UINT64_C(0x5c56b07f7826988d), UINT64_C(0x5888ac31aff56ed0), UINT64_C(0x04367fa7b740ab31)},
    {300, UINT64_C(0x3a9d667b0dddd048), UINT64_C(0x738f15bfb30d1270), UINT64_C(0x78e3f3bbf92d8208)},
};

static const struct {
  size_t size;
  uint64_t words[2];
} kLongAnswers[] = {
    {0, {UINT64_C(0x3df09dfc64c09a2b), UINT64_C(0x3cb540c392e51e29)}},
    {3, {UINT64_C(0x335f3d065ee0ddc8), UINT64_C(0xd4da3550fd278e64)}},
    {8, {UINT64_C(0xa5d3ddcfe09201f4), UINT64_C(0x52edc5bc77fcb5f5)}},
    {16, {UINT64_C(0xe9275c0579673b85), UINT64_C(0x949ecf2bb30fad4f)}},
    {17, {UINT64_C(0x3772cec46fe62d42), UINT64_C(0x7d311ee7f105b0a2)}},
    {32, {UINT64_C(0x2ec9f576b9fb5354), UINT64_C(0x1c13924abb679419)}},
    {33, {UINT64_C(0x79c44fef6b390f66), UINT64_C(0x8455d0c726bc8a06)}},
    {64, {UINT64_C(0xf50a3386bb399b98), UINT64_C(0xaccdc01863605b90)}},
    {129, {UINT64_C(0xd49528e30c51b686), UINT64_C(0x94da664420351ce4)}},
    {300, {UINT64_C(0x8208f386f4742477), UINT64_C(0x0547f752a3e54032)}},
    {143, {UINT64_C(0x41e4e0118c084e82), UINT64_C(0x9d9ef7bc733a3dcc)}},
    {144, {UINT64_C(0x31c6648afeada5d6), UINT64_C(0x4c106ff47d635c67)}},
};

static void hashes_are_tensorflows(void** state) {
  static const uint64_t kKey[2] = {123, 456};
  char text[300];
  for (size_t i = 0; i < sizeof text; ++i) text[i] = (char)((i * 37 + 11) % 251 + 1);
  for (size_t i = 0; i < sizeof kAnswers / sizeof *kAnswers; ++i) {
    leat_string_view_t bytes = leat_string_view_make(text, kAnswers[i].size);
    assert_true(leat_fingerprint64(bytes) == kAnswers[i].farm);
    assert_true(leat_fingerprint_murmur(bytes) % INT64_MAX == kAnswers[i].murmur);
    assert_true(leat_fingerprint_keyed(kKey, bytes) % INT64_MAX == kAnswers[i].keyed);
  }
  for (size_t i = 0; i < sizeof kLongAnswers / sizeof *kLongAnswers; ++i) {
    uint64_t words[2];
    leat_fingerprint128(leat_string_view_make(text, kLongAnswers[i].size), words);
    assert_true(words[0] == kLongAnswers[i].words[0]);
    assert_true(words[1] == kLongAnswers[i].words[1]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(hashes_are_tensorflows)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
