// A key is written by us and comes back from a browser, or from anybody. It is therefore read by a
// parser for the one form that it has, and not by one for JSON in general: strings with the escapes
// that json.dumps makes, and whole numbers. Nothing in it is trusted: run, tag, step and index are
// looked up as if they had been typed. A key that names nothing any more is NOT_FOUND, since a log
// may have been replaced after the page was loaded.
#include "board/blob_key.h"

#include <stdio.h>

#include "board/json_writer.h"
#include "board/tensor_list.h"
#include "formats/wire/utf8.h"

static const char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

void board_blob_key_print(const char* plugin, leat_string_view_t run, leat_string_view_t tag,
                          int64_t step, uint32_t index, leat_string_builder_t* out) {
  leat_string_builder_t list;
  leat_string_builder_initialize(leat_allocator_system(), &list);
  leat_string_builder_print(&list, "[\"\",\"%s\",", plugin);
  board_json_ascii_string(&list, run);
  leat_string_builder_append_char(&list, ',');
  board_json_ascii_string(&list, tag);
  leat_string_builder_print(&list, ",%lld,%u]", (long long)step, index);
  const uint8_t* bytes = (const uint8_t*)list.data;
  for (size_t i = 0; bytes && i < list.size; i += 3) {
    size_t left = list.size - i;
    uint32_t word = (uint32_t)bytes[i] << 16 | (left > 1 ? (uint32_t)bytes[i + 1] << 8 : 0) |
                    (left > 2 ? bytes[i + 2] : 0);
    for (size_t digit = 0; digit < (left > 2 ? 4 : left + 1); ++digit) {
      leat_string_builder_append_char(out, kDigits[word >> (18 - 6 * digit) & 63]);
    }
  }
  leat_string_builder_deinitialize(&list);
}

// ---- Reading ------------------------------------------------------------------------------------
static leat_status_t decode_digits(leat_string_view_t key, leat_arena_t* arena,
                                   leat_string_view_t* out_text) {
  char* text = NULL;
  size_t size = 0;
  uint32_t word = 0, bits = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, key.size + 1, &text));
  for (size_t i = 0; i < key.size; ++i) {
    const char* digit = key.data[i] ? strchr(kDigits, key.data[i]) : NULL;
    if (!digit) return leat_make_status(LEAT_INVALID_ARGUMENT, "the blob key is malformed");
    word = word << 6 | (uint32_t)(digit - kDigits);
    bits += 6;
    if (bits >= 8) {
      bits -= 8;
      text[size++] = (char)(word >> bits);
    }
  }
  *out_text = leat_string_view_make(text, size);
  return leat_ok_status();
}

static bool take_char(leat_string_view_t* rest, char c) {
  if (!rest->size || rest->data[0] != c) return false;
  *rest = leat_string_view_from_index(*rest, 1);
  return true;
}

static bool take_unit(leat_string_view_t* rest, uint32_t* out_unit) {
  *out_unit = 0;
  if (rest->size < 4) return false;
  for (int i = 0; i < 4; ++i) {
    char c = rest->data[i];
    const char* hex = c ? strchr("0123456789abcdef", c) : NULL;
    if (!hex) return false;
    *out_unit = *out_unit << 4 | (uint32_t)(hex - "0123456789abcdef");
  }
  *rest = leat_string_view_from_index(*rest, 4);
  return true;
}

// A \u escape, of which two may make one character.
static bool take_code_point(leat_string_view_t* rest, char out_bytes[4], size_t* out_size) {
  uint32_t unit, low;
  if (!take_unit(rest, &unit)) return false;
  if (unit >= 0xd800 && unit < 0xdc00) {
    if (!take_char(rest, '\\') || !take_char(rest, 'u') || !take_unit(rest, &low)) return false;
    if (low < 0xdc00 || low > 0xdfff) return false;
    unit = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00);
  }
  *out_size = leat_utf8_encode(unit, out_bytes);
  return *out_size > 0;
}

// A string, unescaped in place: no escape is shorter than what it stands for.
static bool take_string(leat_string_view_t* rest, leat_string_view_t* out_text) {
  if (!take_char(rest, '"')) return false;
  char *text = (char*)rest->data, *out = text;
  while (rest->size && rest->data[0] != '"') {
    char c = rest->data[0], bytes[4] = {0};
    size_t size = 1;
    *rest = leat_string_view_from_index(*rest, 1);
    bytes[0] = c;
    if (c == '\\') {
      if (!rest->size) return false;
      c = rest->data[0];
      *rest = leat_string_view_from_index(*rest, 1);
      const char* named = c ? strchr("\"\\/nrtbf", c) : NULL;
      if (c == 'u') {
        if (!take_code_point(rest, bytes, &size)) return false;
      } else if (named) {
        bytes[0] = "\"\\/\n\r\t\b\f"[named - "\"\\/nrtbf"];
      } else {
        return false;
      }
    }
    memcpy(out, bytes, size);
    out += size;
  }
  *out_text = leat_string_view_make(text, (size_t)(out - text));
  return take_char(rest, '"');
}

static bool take_int(leat_string_view_t* rest, char end, int64_t* out_number) {
  size_t size = leat_string_view_find(*rest, end);
  if (size >= rest->size ||
      !leat_string_view_to_int64(leat_string_view_make(rest->data, size), out_number)) {
    return false;
  }
  *rest = leat_string_view_from_index(*rest, size + 1);
  return true;
}

// The element |index| of the value. Of a sound's rows, whose second element is a label, the first
// element is the sound.
static leat_status_t pick_blob(const leat_pb_summary_value_t* value, bool is_sound, int64_t index,
                               leat_arena_t* arena, leat_string_view_t* out_bytes) {
  const leat_pb_summary_image_t* image = value->image;
  board_tensor_list_t list = {0};
  char size[24];
  if (image && index >= 0 && index < 2) {
    snprintf(size, sizeof size, "%d", index == 0 ? image->width : image->height);
    return leat_arena_copy_string(arena, leat_string_view_from(size), out_bytes);
  }
  if (image && index == 2) {
    *out_bytes = image->encoded_image_string;
    return leat_ok_status();
  }
  if (value->audio && index == 0) {
    *out_bytes = value->audio->encoded_audio_string;
    return leat_ok_status();
  }
  if (value->tensor) LEAT_RETURN_IF_ERROR(board_tensor_list_read(value->tensor, arena, &list));
  size_t rows = is_sound && list.rank > 1 ? list.dims[0] : list.count;
  if (!list.texts || index < 0 || (size_t)index >= rows) {
    return leat_make_status(LEAT_NOT_FOUND, "Not found: the blob has no element %lld",
                            (long long)index);
  }
  *out_bytes = list.texts[(size_t)index * (list.count / rows)];
  return leat_ok_status();
}

leat_status_t board_blob_key_read(board_api_t* api, const board_request_t* request,
                                  const char* plugin, leat_string_view_t key,
                                  leat_string_view_t* out_bytes) {
  leat_string_view_t rest = {0}, experiment, owner, run_name, tag;
  int64_t step, index;
  board_snapshot_t snapshot;
  leat_pb_summary_value_t value;
  LEAT_RETURN_IF_ERROR(decode_digits(key, request->arena, &rest));
  if (!take_char(&rest, '[') || !take_string(&rest, &experiment) || !take_char(&rest, ',') ||
      !take_string(&rest, &owner) || !take_char(&rest, ',') || !take_string(&rest, &run_name) ||
      !take_char(&rest, ',') || !take_string(&rest, &tag) || !take_char(&rest, ',') ||
      !take_int(&rest, ',', &step) || !take_int(&rest, ']', &index) ||
      !leat_string_view_equals(owner, plugin)) {
    return leat_make_status(LEAT_INVALID_ARGUMENT, "the blob key is malformed");
  }
  board_run_t* run = board_logdir_find(api->logdir, run_name);
  if (!run) return leat_make_status(LEAT_NOT_FOUND, "Not found: the run is not there");
  LEAT_RETURN_IF_ERROR(
      board_snapshot_take(run, tag, plugin, BOARD_CLASS_BLOB, request->arena, &snapshot));
  for (uint32_t i = 0; i < snapshot.count; ++i) {
    if (snapshot.steps[i] != step) continue;
    LEAT_RETURN_IF_ERROR(board_snapshot_value(&snapshot, i, request->arena, &value));
    return pick_blob(&value, !strcmp(plugin, "audio"), index, request->arena, out_bytes);
  }
  return leat_make_status(LEAT_NOT_FOUND, "Not found: no such step");
}

// ---- Points -------------------------------------------------------------------------------------
uint32_t board_blob_longest(board_series_t* series) {
  const board_columns_t columns = board_series_columns(series);
  uint32_t most = 0;
  for (uint32_t i = 0; i < columns.count; ++i) {
    if (columns.places[i].length > most) most = columns.places[i].length;
  }
  return most;
}

leat_status_t board_blob_points(board_api_t* api, const board_request_t* request,
                                const char* plugin, uint32_t points, board_run_t** out_run,
                                leat_string_view_t* out_tag, int64_t* out_sample,
                                board_snapshot_t* out_snapshot) {
  LEAT_RETURN_IF_ERROR(board_api_run_and_tag(api, request, out_run, out_tag));
  LEAT_RETURN_IF_ERROR(board_api_int(request, "sample", 0, out_sample));
  LEAT_RETURN_IF_ERROR(board_snapshot_take(*out_run, *out_tag, plugin, BOARD_CLASS_BLOB,
                                           request->arena, out_snapshot));
  LEAT_RETURN_IF_ERROR(board_snapshot_sort(out_snapshot, request->arena));
  return board_snapshot_thin(out_snapshot, points, request->arena);
}
