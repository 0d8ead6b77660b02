// Decompression: every kind of block, members, damage, and ends before their time.
#include "formats/inflate.h"

#include <stdio.h>
#include <string.h>

#include "base/test.h"

static const char kDynamic[] =
    "\170\332\215\322\321\015\203\060\014\004\320\377\116\161\003\364\043\004\110\141\234\240"
    "\270\052\042\212\053\342\212\365\073\201\321\015\360\144\373\174\001\233\232\125\351\320"
    "\067\066\221\023\332\140\037\301\225\153\175\302\362\041\010\050\172\065\344\126\360\315"
    "\275\143\067\344\123\177\255\074\006\102\017\256\236\010\035\135\275\022\172\364\067\117"
    "\004\237\134\036\147\202\317\056\037\231\351\311\017\216\271\375\345\362\304\004\277\270"
    "\174\141\276\276\372\311\207\300\264\346\246\164\221\252\235\337\273\077\015\351\000\126";
static const char kFixed[] =
    "\170\001\113\114\112\116\104\105\025\000\110\331\007\135";
static const char kStored[] =
    "\170\001\001\010\000\367\377\141\163\040\151\164\040\151\163\014\167\002\316";
static const char kMembers[] =
    "\037\213\010\010\000\000\000\000\002\377\156\141\155\145\056\164\170\164\000\313\317\113"
    "\125\000\000\111\141\254\043\004\000\000\000\037\213\010\000\000\000\000\000\002\003\053"
    "\051\317\007\000\146\212\312\021\003\000\000\000";

static char text[1 << 16];
static size_t text_size;

// Reads all, |step| bytes at a time, into |text|.
static leat_status_t inflate_all(const char* bytes, size_t size, leat_inflate_format_t format,
                                 size_t step) {
  leat_record_bytes_source_t source;
  leat_inflate_t* inflate;
  leat_status_t status = leat_ok_status();
  leat_record_bytes_source_initialize(leat_string_view_make(bytes, size), &source);
  LEAT_RETURN_IF_ERROR(
      leat_inflate_create(&source.base, format, leat_allocator_system(), &inflate));
  leat_record_source_t* out = leat_inflate_source(inflate);
  text_size = 0;
  for (size_t got = step; got == step && !status && text_size + step < sizeof text;) {
    status = out->read(out, text + text_size, step, &got);
    if (!status) text_size += got;
  }
  leat_inflate_free(inflate);
  return status;
}

static void expect_text(const char* wanted) {
  assert_int_equal(text_size, strlen(wanted));
  assert_memory_equal(text, wanted, text_size);
}

static const char* bottles(void) {
  static char lines[2048];
  size_t used = 0;
  for (int i = 0; i < 12; ++i) {
    used += (size_t)snprintf(lines + used, sizeof lines - used,
                             "%d bottles of beer on the wall, take %d down and pass it around\n",
                             i * i, i);
  }
  return lines;
}

static void blocks_of_every_kind_come_out(void** state) {
  LEAT_EXPECT_OK(inflate_all(kStored, sizeof kStored - 1, LEAT_INFLATE_ZLIB, 100));
  expect_text("as it is");
  LEAT_EXPECT_OK(inflate_all(kFixed, sizeof kFixed - 1, LEAT_INFLATE_ZLIB, 100));
  expect_text("abcabcabcabcabcabcx");
  LEAT_EXPECT_OK(inflate_all(kDynamic, sizeof kDynamic - 1, LEAT_INFLATE_ZLIB, 1000));
  expect_text(bottles());
  LEAT_EXPECT_OK(inflate_all(kDynamic, sizeof kDynamic - 1, LEAT_INFLATE_ZLIB, 1));
  expect_text(bottles());
}

static void members_follow_each_other(void** state) {
  LEAT_EXPECT_OK(inflate_all(kMembers, sizeof kMembers - 1, LEAT_INFLATE_GZIP, 3));
  expect_text("one two");
}

static void any_changed_byte_is_found(void** state) {
  char bytes[sizeof kDynamic - 1];
  for (size_t i = 0; i < sizeof bytes; ++i) {
    memcpy(bytes, kDynamic, sizeof bytes);
    bytes[i] ^= 0x40;
    leat_status_t status = inflate_all(bytes, sizeof bytes, LEAT_INFLATE_ZLIB, 64);
    // Else the stream seems to go on past its end.
    if (!status) assert_true(text_size < strlen(bottles()) || i == 0 || strcmp(text, bottles()));
    if (status) assert_int_equal(leat_status_code(status), LEAT_DATA_LOSS);
    leat_status_free(status);
  }
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, inflate_all("no zlib at all", 14, LEAT_INFLATE_ZLIB, 64));
  LEAT_EXPECT_CODE(LEAT_DATA_LOSS, inflate_all("no gzip at all", 14, LEAT_INFLATE_GZIP, 64));
}

static void a_cut_stream_ends_early(void** state) {
  for (size_t size = 0; size < sizeof kDynamic - 1; ++size) {
    LEAT_EXPECT_OK(inflate_all(kDynamic, size, LEAT_INFLATE_ZLIB, 64));
    assert_true(text_size <= strlen(bottles()));
    assert_memory_equal(text, bottles(), text_size);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(blocks_of_every_kind_come_out),
      cmocka_unit_test(members_follow_each_other),
      cmocka_unit_test(any_changed_byte_is_found),
      cmocka_unit_test(a_cut_stream_ends_early),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
