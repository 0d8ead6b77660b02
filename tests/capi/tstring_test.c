// The inline functions of tf_tstring.h: the four forms of a TF_TString, what turns one into
// another, sources that lie within the string itself, views that hold an owner. They are compiled
// into programs that share strings with the library, so the bytes of each form are compared too.
// Run under ASan the tests also show that every block is freed once.
//
// Nothing here links against the library: the subject is the header alone.

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tensorflow/c/tf_tstring.h"

static const char kText[] = "The quick brown fox jumps over the lazy dog, then naps a while.";
enum { kTextSize = sizeof(kText) - 1 };

// |str| is of form |type| and holds the |size| bytes at |data|, with a NUL behind an own copy.
static void check_string(const TF_TString* str, TF_TString_Type type, const char* data,
                         size_t size) {
  assert_int_equal(TF_TString_GetType(str), type);
  assert_int_equal(TF_TString_GetSize(str), size);
  assert_memory_equal(TF_TString_GetDataPointer(str), data, size);
  if (type == TF_TSTR_SMALL || type == TF_TSTR_LARGE) {
    assert_int_equal(TF_TString_GetDataPointer(str)[size], '\0');
    assert_true(TF_TString_GetCapacity(str) >= size);
  } else {
    assert_int_equal(TF_TString_GetCapacity(str), 0);
  }
}

// The place |position| bytes into |str|. Through a volatile, since GCC 12 at -O3 otherwise takes
// the address for one inside the 24 bytes of the object and warns.
static const char* place_in(const TF_TString* str, size_t position) {
  const char* volatile data = TF_TString_GetDataPointer(str);
  return data + position;
}

static TF_TString make_string(const char* data, size_t size) {
  TF_TString str;
  TF_TString_Init(&str);
  TF_TString_Copy(&str, data, size);
  return str;
}

static void zero_bytes_are_the_empty_string(void** state) {
  (void)state;
  TF_TString str;
  memset(&str, 0xff, sizeof(str));
  TF_TString_Init(&str);
  static const uint8_t kZero[24];
  assert_memory_equal(&str, kZero, sizeof(kZero));
  check_string(&str, TF_TSTR_SMALL, "", 0);

  TF_TString_Copy(&str, NULL, 0);
  TF_TString_AppendN(&str, NULL, 0);
  check_string(&str, TF_TSTR_SMALL, "", 0);
  TF_TString_Dealloc(&str);
  TF_TString_Dealloc(&str);
}

// The bytes themselves, as a program in another language would write them.
static void each_form_has_its_bytes(void** state) {
  (void)state;
  TF_TString str = make_string("abc", 3);
  assert_int_equal(str.u.raw.raw[0], 3 << 2);
  assert_memory_equal(&str.u.raw.raw[1], "abc", 4);

  TF_TString_Copy(&str, kText, 40);
  assert_int_equal(str.u.large.size, 40 << 2 | 1);
  assert_int_equal(str.u.large.cap, 47);
  assert_string_equal(str.u.large.ptr, "The quick brown fox jumps over the lazy ");

  TF_TString_AssignView(&str, kText, 40);
  assert_int_equal(str.u.view.size, 40 << 2 | 3);
  assert_ptr_equal(str.u.view.ptr, kText);
  assert_null(str.u.view.owner_ref);
}

static void every_length_round_the_limit_is_kept(void** state) {
  (void)state;
  for (size_t size = 0; size <= kTextSize; ++size) {
    TF_TString str = make_string(kText, size);
    check_string(&str, size <= 22 ? TF_TSTR_SMALL : TF_TSTR_LARGE, kText, size);
    TF_TString_Dealloc(&str);
    check_string(&str, TF_TSTR_SMALL, kText, size <= 22 ? size : 0);
  }
}

static void nul_bytes_inside_are_content(void** state) {
  (void)state;
  static const char kBytes[30] = {'a', 0, 'b', 0, 0, 'c', [29] = 0};
  TF_TString small = make_string(kBytes, 7);
  check_string(&small, TF_TSTR_SMALL, kBytes, 7);
  TF_TString large = make_string(kBytes, 30);
  check_string(&large, TF_TSTR_LARGE, kBytes, 30);
  TF_TString_Dealloc(&large);
}

static void copy_replaces_large_by_small_and_back(void** state) {
  (void)state;
  TF_TString str = make_string(kText, kTextSize);
  TF_TString_Copy(&str, "x", 1);
  check_string(&str, TF_TSTR_SMALL, "x", 1);
  TF_TString_Copy(&str, kText, 60);
  check_string(&str, TF_TSTR_LARGE, kText, 60);
  const char* const block = TF_TString_GetDataPointer(&str);
  TF_TString_Copy(&str, kText + 3, 50);
  assert_ptr_equal(TF_TString_GetDataPointer(&str), block);  // it fits: no new block
  check_string(&str, TF_TSTR_LARGE, kText + 3, 50);
  TF_TString_Copy(&str, kText, 23);
  check_string(&str, TF_TSTR_LARGE, kText, 23);
  assert_int_equal(TF_TString_GetCapacity(&str), 31);  // less than half used: shrunk
  TF_TString_Dealloc(&str);
}

static void copy_takes_a_part_of_the_string_itself(void** state) {
  (void)state;
  TF_TString str = make_string(kText, kTextSize);
  TF_TString_Copy(&str, place_in(&str, 0), kTextSize);
  check_string(&str, TF_TSTR_LARGE, kText, kTextSize);
  TF_TString_Copy(&str, place_in(&str, 4), 50);  // overlapping, same block
  check_string(&str, TF_TSTR_LARGE, kText + 4, 50);
  TF_TString_Copy(&str, place_in(&str, 2), 23);  // a smaller block
  check_string(&str, TF_TSTR_LARGE, kText + 6, 23);
  TF_TString_Copy(&str, place_in(&str, 1), 10);  // LARGE to SMALL
  check_string(&str, TF_TSTR_SMALL, kText + 7, 10);
  TF_TString_Copy(&str, place_in(&str, 3), 5);  // within SMALL
  check_string(&str, TF_TSTR_SMALL, kText + 10, 5);
}

static void append_crosses_the_small_limit(void** state) {
  (void)state;
  TF_TString str;
  TF_TString_Init(&str);
  for (size_t size = 0; size < kTextSize; ++size) {
    check_string(&str, size <= 22 ? TF_TSTR_SMALL : TF_TSTR_LARGE, kText, size);
    TF_TString_AppendN(&str, &kText[size], 1);
  }
  check_string(&str, TF_TSTR_LARGE, kText, kTextSize);
  TF_TString_Dealloc(&str);
}

static void append_takes_the_string_itself(void** state) {
  (void)state;
  TF_TString str = make_string("0123456789", 10);
  TF_TString_Append(&str, &str);
  check_string(&str, TF_TSTR_SMALL, "01234567890123456789", 20);
  TF_TString_Append(&str, &str);  // SMALL to LARGE: the source moves
  check_string(&str, TF_TSTR_LARGE, "0123456789012345678901234567890123456789", 40);
  TF_TString_Append(&str, &str);  // a new block: the source is freed
  assert_int_equal(TF_TString_GetSize(&str), 80);
  TF_TString_AppendN(&str, place_in(&str, 75), 5);
  assert_memory_equal(TF_TString_GetDataPointer(&str) + 70, "012345678956789", 15);
  TF_TString_Dealloc(&str);
}

static void append_to_a_view_copies_first(void** state) {
  (void)state;
  TF_TString str;
  TF_TString_Init(&str);
  TF_TString_AssignView(&str, kText, 20);
  TF_TString_AppendN(&str, kText + 20, 2);  // the bytes right behind the view
  check_string(&str, TF_TSTR_SMALL, kText, 22);
  TF_TString_AssignView(&str, kText, 20);
  TF_TString_AppendN(&str, kText + 10, 20);  // begins inside, ends outside
  assert_int_equal(TF_TString_GetType(&str), TF_TSTR_LARGE);
  assert_memory_equal(TF_TString_GetDataPointer(&str) + 20, kText + 10, 20);
  TF_TString_Dealloc(&str);
}

static void resize_fills_and_cuts(void** state) {
  (void)state;
  TF_TString str;
  TF_TString_Init(&str);
  assert_ptr_equal(TF_TString_Resize(&str, 2, 'a'), TF_TString_GetDataPointer(&str));
  TF_TString_Resize(&str, 4, '\0');
  TF_TString_Resize(&str, 24, 'b');
  check_string(&str, TF_TSTR_LARGE, "aa\0\0bbbbbbbbbbbbbbbbbbbb", 24);
  TF_TString_Resize(&str, 3, 'c');
  check_string(&str, TF_TSTR_SMALL, "aa\0", 3);
  memset(TF_TString_ResizeUninitialized(&str, 100), 'd', 100);
  TF_TString_Resize(&str, 0, 'e');
  check_string(&str, TF_TSTR_SMALL, "", 0);
  TF_TString_Dealloc(&str);
}

static void a_size_that_cannot_be_kept_changes_nothing(void** state) {
  (void)state;
  TF_TString str = make_string(kText, 30);
  assert_null(TF_TString_ResizeUninitialized(&str, SIZE_MAX));
  assert_null(TF_TString_Resize(&str, SIZE_MAX / 2, 'x'));
  TF_TString_Reserve(&str, SIZE_MAX);
  TF_TString_AppendN(&str, kText, SIZE_MAX - 4);
  check_string(&str, TF_TSTR_LARGE, kText, 30);
  TF_TString_Dealloc(&str);
}

static void reserve_makes_whole_blocks(void** state) {
  (void)state;
  TF_TString str = make_string("hello", 5);
  TF_TString_Reserve(&str, 22);
  assert_int_equal(TF_TString_GetCapacity(&str), 22);
  TF_TString_Reserve(&str, 100);
  check_string(&str, TF_TSTR_LARGE, "hello", 5);
  assert_int_equal(TF_TString_GetCapacity(&str), 111);
  TF_TString_Reserve(&str, 50);
  assert_int_equal(TF_TString_GetCapacity(&str), 111);
  TF_TString_ReserveAmortized(&str, 112);
  assert_int_equal(TF_TString_GetCapacity(&str), 223);

  TF_TString_AssignView(&str, kText, kTextSize);
  TF_TString_Reserve(&str, 10);  // nothing a SMALL string would not have
  check_string(&str, TF_TSTR_VIEW, kText, kTextSize);
  TF_TString_Reserve(&str, 40);  // at least its own content
  check_string(&str, TF_TSTR_LARGE, kText, kTextSize);
  assert_int_equal(TF_TString_GetCapacity(&str), 63);
  TF_TString_Dealloc(&str);
}

static void a_view_becomes_a_copy_when_written_to(void** state) {
  (void)state;
  TF_TString str;
  TF_TString_Init(&str);
  TF_TString_AssignView(&str, kText, 9);
  check_string(&str, TF_TSTR_VIEW, kText, 9);
  assert_ptr_equal(TF_TString_GetDataPointer(&str), kText);
  TF_TString_GetMutableDataPointer(&str)[0] = 't';
  check_string(&str, TF_TSTR_SMALL, "the quick", 9);

  TF_TString_AssignView(&str, kText, kTextSize);
  TF_TString_GetMutableDataPointer(&str)[0] = 't';
  assert_int_equal(TF_TString_GetType(&str), TF_TSTR_LARGE);
  assert_memory_equal(TF_TString_GetDataPointer(&str) + 1, kText + 1, kTextSize - 1);
  assert_int_equal(kText[0], 'T');
  TF_TString_Dealloc(&str);
}

// A string of the form that files mapped into memory use: the bytes lie behind the objects.
static void an_offset_is_read_relative_to_itself(void** state) {
  (void)state;
  struct {
    TF_TString str;
    char bytes[32];
  } mapped;
  TF_TString_Init(&mapped.str);
  mapped.str.u.offset.size = TF_le32toh(30 << 2 | TF_TSTR_OFFSET);
  mapped.str.u.offset.offset = TF_le32toh((uint32_t)sizeof(TF_TString));
  mapped.str.u.offset.count = TF_le32toh(1);
  memcpy(mapped.bytes, kText, sizeof(mapped.bytes));
  check_string(&mapped.str, TF_TSTR_OFFSET, kText, 30);

  TF_TString other = make_string(kText, kTextSize);
  TF_TString_Assign(&other, &mapped.str);
  check_string(&other, TF_TSTR_VIEW, kText, 30);
  assert_ptr_equal(TF_TString_GetDataPointer(&other), mapped.bytes);
  TF_TString_Move(&other, &mapped.str);
  check_string(&other, TF_TSTR_VIEW, kText, 30);
  check_string(&mapped.str, TF_TSTR_OFFSET, kText, 30);

  TF_TString_GetMutableDataPointer(&mapped.str)[0] = 't';
  assert_int_equal(TF_TString_GetType(&mapped.str), TF_TSTR_LARGE);
  assert_int_equal(mapped.bytes[0], 'T');
  TF_TString_Dealloc(&mapped.str);
}

static void assign_copies_what_is_owned(void** state) {
  (void)state;
  TF_TString from = make_string(kText, 50);
  TF_TString to = make_string(kText, kTextSize);
  TF_TString_Assign(&to, &from);
  check_string(&to, TF_TSTR_LARGE, kText, 50);
  assert_ptr_not_equal(TF_TString_GetDataPointer(&to), TF_TString_GetDataPointer(&from));
  TF_TString_Assign(&to, &to);
  check_string(&to, TF_TSTR_LARGE, kText, 50);
  TF_TString_Copy(&from, "ab", 2);
  TF_TString_Assign(&to, &from);
  check_string(&to, TF_TSTR_SMALL, "ab", 2);
  TF_TString_AssignView(&from, kText, 5);
  TF_TString_Assign(&to, &from);
  check_string(&to, TF_TSTR_VIEW, kText, 5);
}

static void move_takes_the_block(void** state) {
  (void)state;
  TF_TString from = make_string(kText, 50);
  TF_TString to = make_string(kText, kTextSize);
  const char* const block = TF_TString_GetDataPointer(&from);
  TF_TString_Move(&to, &from);
  check_string(&to, TF_TSTR_LARGE, kText, 50);
  assert_ptr_equal(TF_TString_GetDataPointer(&to), block);
  check_string(&from, TF_TSTR_SMALL, "", 0);
  TF_TString_Move(&to, &to);
  check_string(&to, TF_TSTR_LARGE, kText, 50);
  TF_TString_Copy(&from, "ab", 2);
  TF_TString_Move(&to, &from);
  check_string(&to, TF_TSTR_SMALL, "ab", 2);
  TF_TString_AssignView(&from, kText, 5);
  TF_TString_Move(&to, &from);
  check_string(&to, TF_TSTR_VIEW, kText, 5);
  check_string(&from, TF_TSTR_SMALL, "", 0);
}

// --- Views with an owner ---------------------------------------------------------------------

// An owner that frees its bytes with the last view, so that a read after that is caught by ASan.
typedef struct owner_t {
  TStringOwnerCApi api;
  int holds;
  char* bytes;
} owner_t;

static void owner_ref(TStringOwnerCApi* self) { ++((owner_t*)self->obj)->holds; }

static bool owner_unref(TStringOwnerCApi* self) {
  owner_t* const owner = (owner_t*)self->obj;
  if (--owner->holds != 0) return false;
  free(owner->bytes);
  owner->bytes = NULL;
  return true;
}

static void owner_initialize(owner_t* owner) {
  owner->api.ref = owner_ref;
  owner->api.unref = owner_unref;
  owner->api.obj = owner;
  owner->holds = 0;
  owner->bytes = (char*)malloc(kTextSize);
  assert_non_null(owner->bytes);
  memcpy(owner->bytes, kText, kTextSize);
}

static void views_hold_their_owner(void** state) {
  (void)state;
  owner_t owner;
  owner_initialize(&owner);
  TF_TString a = make_string(kText, 40);
  TF_TString b = make_string(kText, 40);
  TF_TString_AssignViewWithOwner(&a, owner.bytes, kTextSize, &owner.api);
  assert_int_equal(owner.holds, 1);
  TF_TString_Assign(&b, &a);
  assert_int_equal(owner.holds, 2);
  TF_TString_AssignViewWithOwner(&a, owner.bytes + 4, 10, a.u.view.owner_ref);
  assert_int_equal(owner.holds, 2);
  TF_TString_Move(&b, &a);
  assert_int_equal(owner.holds, 1);
  check_string(&b, TF_TSTR_VIEW, kText + 4, 10);
  TF_TString_Dealloc(&b);
  assert_int_equal(owner.holds, 0);
  assert_null(owner.bytes);
}

// Each way in which the last view stops being one keeps the bytes that it needs.
static void writing_to_the_last_view_lets_the_owner_go(void** state) {
  (void)state;
  for (int way = 0; way < 6; ++way) {
    owner_t owner;
    owner_initialize(&owner);
    TF_TString str;
    TF_TString_Init(&str);
    TF_TString_AssignViewWithOwner(&str, owner.bytes, kTextSize, &owner.api);
    size_t size = kTextSize;
    const char* expected = kText;
    switch (way) {
      case 0:
        TF_TString_GetMutableDataPointer(&str);
        break;
      case 1:
        TF_TString_Reserve(&str, 200);
        break;
      case 2:
        TF_TString_Resize(&str, size = 10, 'x');
        break;
      case 3:
        TF_TString_Resize(&str, size = 30, 'x');
        break;
      case 4:
        TF_TString_Copy(&str, owner.bytes + 5, size = 30);
        expected = kText + 5;
        break;
      default:
        TF_TString_AppendN(&str, owner.bytes, 3);
        assert_memory_equal(TF_TString_GetDataPointer(&str) + kTextSize, kText, 3);
        TF_TString_Resize(&str, kTextSize, 'x');
    }
    assert_int_equal(owner.holds, 0);
    assert_null(owner.bytes);
    check_string(&str, size <= 22 ? TF_TSTR_SMALL : TF_TSTR_LARGE, expected, size);
    TF_TString_Dealloc(&str);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(zero_bytes_are_the_empty_string),
      cmocka_unit_test(each_form_has_its_bytes),
      cmocka_unit_test(every_length_round_the_limit_is_kept),
      cmocka_unit_test(nul_bytes_inside_are_content),
      cmocka_unit_test(copy_replaces_large_by_small_and_back),
      cmocka_unit_test(copy_takes_a_part_of_the_string_itself),
      cmocka_unit_test(append_crosses_the_small_limit),
      cmocka_unit_test(append_takes_the_string_itself),
      cmocka_unit_test(append_to_a_view_copies_first),
      cmocka_unit_test(resize_fills_and_cuts),
      cmocka_unit_test(a_size_that_cannot_be_kept_changes_nothing),
      cmocka_unit_test(reserve_makes_whole_blocks),
      cmocka_unit_test(a_view_becomes_a_copy_when_written_to),
      cmocka_unit_test(an_offset_is_read_relative_to_itself),
      cmocka_unit_test(assign_copies_what_is_owned),
      cmocka_unit_test(move_takes_the_block),
      cmocka_unit_test(views_hold_their_owner),
      cmocka_unit_test(writing_to_the_last_view_lets_the_owner_go),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
