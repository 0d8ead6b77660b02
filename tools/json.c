// A recursive reader of JSON, and printers of strings and numbers. It reads what the library gives
// as JSON (leat_ops_json, leat_doctor_json, leat_explain_placement, leat_passes_json), for which a
// tree in memory is small and simple enough. Text that is not JSON gives NULL rather than an error
// message, since the library wrote it. Arrays and objects may be nested MAX_DEPTH deep, so that the
// recursion is bounded.
#include "json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 64

typedef struct reader_s {
  const char* at;
  const char* end;
  int depth;
} reader_t;

static void skip_blanks(reader_t* r) {
  while (r->at < r->end && strchr(" \t\r\n", *r->at) && *r->at) ++r->at;
}

// Skips blanks and takes the character |c|, if it is next.
static bool take(reader_t* r, char c) {
  skip_blanks(r);
  if (r->at >= r->end || *r->at != c) return false;
  ++r->at;
  return true;
}

static bool take_word(reader_t* r, const char* word) {
  size_t size = strlen(word);
  if ((size_t)(r->end - r->at) < size || memcmp(r->at, word, size)) return false;
  r->at += size;
  return true;
}

// Reads the four digits of a \u escape and appends the character as UTF-8. Surrogate pairs are not
// combined: the library writes none.
static char* append_code_point(reader_t* r, char* out) {
  char digits[5] = {0};
  if (r->end - r->at < 4) return NULL;
  memcpy(digits, r->at, 4);
  r->at += 4;
  char* end;
  unsigned long code = strtoul(digits, &end, 16);
  if (*end) return NULL;
  if (code < 0x80) {
    *out++ = (char)code;
  } else if (code < 0x800) {
    *out++ = (char)(0xc0 | code >> 6);
    *out++ = (char)(0x80 | (code & 0x3f));
  } else {
    *out++ = (char)(0xe0 | code >> 12);
    *out++ = (char)(0x80 | (code >> 6 & 0x3f));
    *out++ = (char)(0x80 | (code & 0x3f));
  }
  return out;
}

static char* append_escape(reader_t* r, char* out) {
  if (r->at >= r->end) return NULL;
  char c = *r->at++;
  if (c == 'u') return append_code_point(r, out);
  const char* found = strchr("\"\\/bfnrt", c);
  if (!found || !c) return NULL;
  *out++ = "\"\\/\b\f\n\r\t"[found - "\"\\/bfnrt"];
  return out;
}

// Reads a string and unescapes it. Every escape is at least as long as what it stands for, so that
// the text's length is enough.
static char* read_string(reader_t* r) {
  if (!take(r, '"')) return NULL;
  const char* close = r->at;
  while (close < r->end && *close != '"') close += *close == '\\' ? 2 : 1;
  if (close >= r->end) return NULL;
  char* text = malloc((size_t)(close - r->at) + 1);
  char* out = text;
  while (out && *r->at != '"') {
    if (*r->at == '\\') {
      ++r->at;
      out = append_escape(r, out);
    } else {
      *out++ = *r->at++;
    }
  }
  if (!out) {
    free(text);
    return NULL;
  }
  *out = 0;
  ++r->at;
  return text;
}

// Takes the characters that a number may have. Whether they form one is left to whoever converts
// the text.
static char* read_number(reader_t* r) {
  const char* begin = r->at;
  while (r->at < r->end && *r->at && strchr("+-.eE0123456789", *r->at)) ++r->at;
  return r->at == begin ? NULL : strndup(begin, (size_t)(r->at - begin));
}

static json_t* read_value(reader_t* r);

// Reads the items or members up to |close| into a list.
static bool read_items(reader_t* r, json_t* parent, char close) {
  json_t** place = &parent->first;
  if (take(r, close)) return true;
  do {
    char* name = NULL;
    if (parent->kind == JSON_OBJECT) {
      name = read_string(r);
      if (!name || !take(r, ':')) {
        free(name);
        return false;
      }
    }
    json_t* item = read_value(r);
    if (!item) {
      free(name);
      return false;
    }
    item->name = name;
    *place = item;
    place = &item->next;
  } while (take(r, ','));
  return take(r, close);
}

// Reads a value of any kind into |json|. Returns false where it is malformed; the caller frees what
// was read.
static bool fill_value(reader_t* r, json_t* json) {
  skip_blanks(r);
  if (r->at >= r->end) return false;
  switch (*r->at) {
    case '{': case '[': {
      char open = *r->at++;
      json->kind = open == '{' ? JSON_OBJECT : JSON_ARRAY;
      if (++r->depth > MAX_DEPTH) return false;
      bool ok = read_items(r, json, open == '{' ? '}' : ']');
      --r->depth;
      return ok;
    }
    case '"':
      json->kind = JSON_STRING;
      return (json->text = read_string(r)) != NULL;
    case 't': case 'f':
      json->kind = JSON_BOOL;
      json->truth = *r->at == 't';
      return take_word(r, json->truth ? "true" : "false");
    case 'n': return take_word(r, "null");
    default:
      json->kind = JSON_NUMBER;
      return (json->text = read_number(r)) != NULL;
  }
}

static json_t* read_value(reader_t* r) {
  json_t* json = calloc(1, sizeof *json);
  if (json && !fill_value(r, json)) {
    json_free(json);
    return NULL;
  }
  return json;
}

json_t* json_parse(const char* text, size_t size) {
  reader_t reader = {text, text + size, 0};
  json_t* json = read_value(&reader);
  skip_blanks(&reader);
  if (reader.at == reader.end) return json;
  json_free(json);
  return NULL;
}

void json_free(json_t* json) {
  while (json) {
    json_t* next = json->next;
    json_free(json->first);
    free(json->name);
    free(json->text);
    free(json);
    json = next;
  }
}

const json_t* json_member(const json_t* json, const char* name) {
  if (!json || json->kind != JSON_OBJECT) return NULL;
  for (const json_t* member = json->first; member; member = member->next) {
    if (!strcmp(member->name, name)) return member;
  }
  return NULL;
}

const char* json_text(const json_t* json, const char* name) {
  const json_t* member = json_member(json, name);
  return member && member->text ? member->text : "";
}

bool json_truth(const json_t* json, const char* name) {
  const json_t* member = json_member(json, name);
  return member && member->truth;
}

// ---- Printing -----------------------------------------------------------------------------------

// The number of bytes of the UTF-8 character at |data|; 0 where there is none.
static size_t character_size(const unsigned char* data, size_t size) {
  size_t want = data[0] < 0x80 ? 1 : data[0] >= 0xc2 && data[0] < 0xe0 ? 2
                                 : (data[0] & 0xf0) == 0xe0            ? 3
                                 : data[0] >= 0xf0 && data[0] < 0xf5   ? 4
                                                                       : 0;
  if (want > size) return 0;
  for (size_t i = 1; i < want; ++i) {
    if ((data[i] & 0xc0) != 0x80) return 0;
  }
  return want;
}

void json_print_string(FILE* out, const char* data, size_t size) {
  fputc('"', out);
  for (size_t i = 0; i < size;) {
    unsigned char c = (unsigned char)data[i];
    size_t bytes = character_size((const unsigned char*)data + i, size - i);
    if (c == '"' || c == '\\') {
      fprintf(out, "\\%c", c);
    } else if (c == '\n') {
      fputs("\\n", out);
    } else if (c < 0x20 || c == 0x7f || bytes == 0) {
      fprintf(out, "\\u%04x", c);
    } else {
      fwrite(data + i, 1, bytes, out);
    }
    i += bytes ? bytes : 1;
  }
  fputc('"', out);
}

void json_print_number(FILE* out, double value) {
  char text[40];
  if (!isfinite(value)) {
    fputs("null", out);
    return;
  }
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(text, sizeof text, "%.*g", digits, value);
    if (strtod(text, NULL) == value) break;
  }
  fputs(text, out);
}
