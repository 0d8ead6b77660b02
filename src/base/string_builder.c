// A string that grows at its end. The buffer doubles when it is full, so that appending n bytes one
// by one costs O(n). |capacity| counts the terminating NUL as well: once |data| is not NULL, there
// is always room for it, and data[size] is 0 after each append.
//
// Appending returns nothing. The first failure is kept in |builder->status|, later appends do
// nothing, and leat_string_builder_finish() returns the failure. Printers that append a hundred
// pieces would otherwise test a status a hundred times, and one forgotten test would lose a piece
// of the text without a word.
#include "base/string_builder.h"

#include <stdarg.h>
#include <string.h>

#include "base/checked.h"
#include "base/locale.h"

void leat_string_builder_initialize(leat_allocator_t* allocator,
                                    leat_string_builder_t* out_builder) {
  memset(out_builder, 0, sizeof(*out_builder));
  out_builder->allocator = allocator;
}

void leat_string_builder_deinitialize(leat_string_builder_t* builder) {
  leat_allocator_free(builder->allocator, builder->data);
  leat_status_free(builder->status);
  leat_string_builder_initialize(builder->allocator, builder);
}

// Makes room for |size| more bytes and the NUL behind them.
static leat_status_t grow(leat_string_builder_t* builder, size_t size) {
  size_t needed = 0;
  if (!leat_checked_add(builder->size + 1, size, &needed)) {
    return leat_make_status(LEAT_RESOURCE_EXHAUSTED,
                            "Appending failed: size is %zu bytes, must fit 64 bits", size);
  }
  if (needed <= builder->capacity) return leat_ok_status();
  size_t capacity = LEAT_MAX(needed, LEAT_MAX((size_t)64, builder->capacity));
  if (builder->capacity < PTRDIFF_MAX) capacity = LEAT_MAX(capacity, 2 * builder->capacity);
  void* data = builder->data;
  LEAT_RETURN_IF_ERROR(
      leat_allocator_reallocate(builder->allocator, builder->capacity, capacity, &data));
  builder->data = data;
  builder->capacity = capacity;
  return leat_ok_status();
}

char* leat_string_builder_reserve(leat_string_builder_t* builder, size_t size) {
  if (builder->status) return NULL;
  builder->status = grow(builder, size);
  if (builder->status) return NULL;
  char* room = builder->data + builder->size;
  builder->size += size;
  room[size] = 0;
  return room;
}

void leat_string_builder_append(leat_string_builder_t* builder, leat_string_view_t text) {
  if (text.size == 0) return;
  char* room = leat_string_builder_reserve(builder, text.size);
  if (room) memcpy(room, text.data, text.size);
}

void leat_string_builder_append_char(leat_string_builder_t* builder, char c) {
  char* room = leat_string_builder_reserve(builder, 1);
  if (room) *room = c;
}

static void print_v(leat_string_builder_t* builder, const char* format, va_list arguments) {
  va_list copy;
  va_copy(copy, arguments);
  int size = leat_locale_print_v(NULL, 0, format, copy);
  va_end(copy);
  if (size < 0) {
    if (!builder->status) {
      builder->status = leat_make_status(
          LEAT_INVALID_ARGUMENT,
          "Printing failed: format is '%s', must be one that can be carried out", format);
    }
    return;
  }
  char* room = leat_string_builder_reserve(builder, (size_t)size);
  if (room) leat_locale_print_v(room, (size_t)size + 1, format, arguments);
}

void leat_string_builder_print(leat_string_builder_t* builder, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  print_v(builder, format, arguments);
  va_end(arguments);
}

leat_status_t leat_string_builder_finish(leat_string_builder_t* builder, char** out_data,
                                         size_t* out_size) {
  *out_data = NULL;
  *out_size = 0;
  if (!builder->status) builder->status = grow(builder, 0);  // "" is a string too
  leat_status_t status = builder->status;
  builder->status = NULL;
  if (!status) {
    builder->data[builder->size] = 0;
    *out_data = builder->data;
    *out_size = builder->size;
    builder->data = NULL;
  }
  leat_string_builder_deinitialize(builder);
  return status;
}
