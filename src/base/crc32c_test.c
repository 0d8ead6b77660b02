// CRC-32C, which guards records and checkpoints. The source is compiled here, so that both ways of
// computing it, with the processor's instruction and by tables, are in reach whatever the machine;
// they must agree at all sizes and alignments. The known values are those of RFC 3720 and the check
// value of the polynomial's catalogue. The mask of records is compared with numbers that stand
// here, not only undone again.
#include "base/crc32c.c"

#include <stdlib.h>

#include "base/random.h"
#include "base/test.h"

static uint32_t by_bits(uint32_t crc, const uint8_t* data, size_t size) {
  crc = ~crc;
  for (size_t i = 0; i < size; ++i) {
    crc ^= data[i];
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? 0x82f63b78u : 0);
  }
  return ~crc;
}

// RFC 3720, B.4.
static void known_values(void** state) {
  uint8_t data[32] = {0};
  assert_int_equal(leat_crc32c(data, 32), 0x8a9136aa);
  memset(data, 0xff, 32);
  assert_int_equal(leat_crc32c(data, 32), 0x62a8ab43);
  for (int i = 0; i < 32; ++i) data[i] = (uint8_t)i;
  assert_int_equal(leat_crc32c(data, 32), 0x46dd794e);
  for (int i = 0; i < 32; ++i) data[i] = (uint8_t)(31 - i);
  assert_int_equal(leat_crc32c(data, 32), 0x113fdb5c);
  assert_int_equal(leat_crc32c("123456789", 9), 0xe3069283);
  assert_int_equal(leat_crc32c(NULL, 0), 0);
}

static void all_ways_agree_at_all_sizes(void** state) {
  enum { SIZE = 3 * STRETCH_LONG * 2 + 3000 };
  uint8_t* data = malloc(SIZE);
  leat_philox_t philox = leat_philox_make(1, 1);
  for (size_t i = 0; i < SIZE; ++i) {
    uint32_t words[4];
    leat_philox_next(&philox, words);
    data[i] = (uint8_t)words[0];
  }
  for (size_t size = 0; size <= SIZE; size += size < 1100 ? 1 : 997) {
    size_t begin = size % 13;
    if (begin + size > SIZE) begin = 0;
    uint32_t start = (uint32_t)size * 0x9e3779b9u;
    uint32_t expected = by_bits(start, data + begin, size);
    assert_int_equal(leat_crc32c_extend(start, data + begin, size), expected);
    assert_int_equal(~extend_by_tables(~start, data + begin, size), expected);
    if (has_hardware()) {
      assert_int_equal(~extend_by_hardware(~start, data + begin, size), expected);
    }
  }
  assert_int_equal(leat_crc32c_extend(leat_crc32c(data, 1000), data + 1000, SIZE - 1000),
                   leat_crc32c(data, SIZE));
  free(data);
}

static void masking_is_undone(void** state) {
  uint32_t crc = leat_crc32c("foo", 3);
  assert_true(leat_crc32c_mask(crc) != crc);
  assert_int_equal(leat_crc32c_unmask(leat_crc32c_mask(crc)), crc);
}

// Masked checksums of the strings at the left, as TensorBoard's own implementation gives them.
static void masked_values(void** state) {
  static const uint8_t zeros[32], *const none = zeros;
  assert_int_equal(leat_crc32c_mask(leat_crc32c(none, 0)), 0xa282ead8u);
  assert_int_equal(leat_crc32c_mask(leat_crc32c("a", 1)), 0x28e46e78u);
  assert_int_equal(leat_crc32c_mask(leat_crc32c("abc", 3)), 0x21f1576eu);
  assert_int_equal(leat_crc32c_mask(leat_crc32c("123456789", 9)), 0xc78ab0e5u);
  assert_int_equal(leat_crc32c_mask(leat_crc32c(zeros, 32)), 0x0fd7fffau);
  assert_int_equal(leat_crc32c_unmask(0xc78ab0e5u), 0xe3069283u);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(known_values),
      cmocka_unit_test(all_ways_agree_at_all_sizes),
      cmocka_unit_test(masking_is_undone),
      cmocka_unit_test(masked_values),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
