// Splits and decodes the query of a URL for the board's HTTP server. board/http.c parses the URL of
// each request once and adds the fields of a posted form by board_query_add; the files board/api*.c
// and board/graph_source.c then ask for parameters by board_query_get.
//
//   run=a%2Fb&tag=x+y&wide   ─▶   run: "a/b"   tag: "x y"   wide: ""
//
// The text is split at '&' and '=' before anything is decoded, so an encoded separator stays within
// its value. Every name and value of the result is a copy in the request's arena, which frees all
// of them at once when the request has been answered. A piece of an arena cannot grow, so the list
// of parameters moves to twice the room whenever it is full; the lists that it leaves behind are
// together smaller than itself. Whoever can reach the port writes this text: an escape that is
// malformed stands for itself and is no error, and after PARAMETER_LIMIT parameters the rest is
// dropped and |is_cut| is set, which makes board/api.c refuse the request. board_query_get walks
// the list, since a handler asks for a few names only.
#include "board/query.h"

#define PARAMETER_LIMIT 10000  // runs that a page names, above all

static int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

leat_status_t board_query_decode(leat_string_view_t text, bool plus, leat_arena_t* arena,
                                 leat_string_view_t* out_text) {
  char* decoded = NULL;
  size_t size = 0;
  LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, text.size + 1, &decoded));
  for (size_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    if (c == '%' && text.size - i > 2) {
      int high = digit_of(text.data[i + 1]), low = digit_of(text.data[i + 2]);
      if (high >= 0 && low >= 0) {
        c = (char)(high << 4 | low);
        i += 2;
      }
    } else if (c == '+' && plus) {
      c = ' ';
    }
    decoded[size++] = c;
  }
  *out_text = leat_string_view_make(decoded, size);
  return leat_ok_status();
}

leat_status_t board_query_add(leat_arena_t* arena, leat_string_view_t name,
                              leat_string_view_t value, board_query_t* query) {
  board_parameter_t* items = query->items;
  query->is_cut = query->count >= PARAMETER_LIMIT;
  if (query->is_cut) return leat_ok_status();
  // The room doubles whenever the count is a power of two.
  if ((query->count & (query->count - 1)) == 0) {
    LEAT_RETURN_IF_ERROR(LEAT_NEW(arena, query->count ? query->count * 2 : 1, &items));
    if (query->count) memcpy(items, query->items, query->count * sizeof *items);
    query->items = items;
  }
  board_parameter_t* item = &items[query->count];
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, name, &item->name));
  LEAT_RETURN_IF_ERROR(leat_arena_copy_string(arena, value, &item->value));
  ++query->count;
  return leat_ok_status();
}

leat_status_t board_query_parse(leat_string_view_t text, leat_arena_t* arena,
                                board_query_t* out_query) {
  *out_query = (board_query_t){0};
  while (text.size) {
    size_t end = leat_string_view_find(text, '&');
    leat_string_view_t pair = leat_string_view_make(text.data, end < text.size ? end : text.size);
    text = leat_string_view_from_index(text, end < text.size ? end + 1 : text.size);
    if (!pair.size) continue;
    size_t middle = leat_string_view_find(pair, '=');
    leat_string_view_t name = pair, value = leat_string_view_make("", 0);
    if (middle < pair.size) {
      name.size = middle;
      value = leat_string_view_from_index(pair, middle + 1);
    }
    LEAT_RETURN_IF_ERROR(board_query_decode(name, true, arena, &name));
    LEAT_RETURN_IF_ERROR(board_query_decode(value, true, arena, &value));
    LEAT_RETURN_IF_ERROR(board_query_add(arena, name, value, out_query));
  }
  return leat_ok_status();
}

bool board_query_get(const board_query_t* query, const char* name, leat_string_view_t* out_value) {
  for (size_t i = 0; i < query->count; ++i) {
    if (!leat_string_view_equals(query->items[i].name, name)) continue;
    *out_value = query->items[i].value;
    return true;
  }
  return false;
}
