// JSON as a tree in memory, for what the library gives as JSON.
#ifndef LEAT_TOOLS_JSON_H_
#define LEAT_TOOLS_JSON_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum json_kind_e {
  JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT
} json_kind_t;

// A value, which owns the values inside it. Numbers stay as text, so that no digit is lost.
typedef struct json_s json_t;
struct json_s {
  json_kind_t kind;
  char* name;      // of a member of an object; else NULL
  char* text;      // a string without escapes, or a number as it is written
  bool truth;
  json_t* first;   // the first item or member
  json_t* next;    // the next item or member of the same parent
};

// Returns NULL when |text| is not JSON, is nested deeper than 64, or there is no memory.
json_t* json_parse(const char* text, size_t size);
void json_free(json_t* json);  // NULL is allowed
// Returns NULL when |json| is not an object or has no such member.
const json_t* json_member(const json_t* json, const char* name);
// The text of a member that is a string or number, and "" otherwise.
const char* json_text(const json_t* json, const char* name);
// True when the member is true.
bool json_truth(const json_t* json, const char* name);

// Prints |size| bytes as a JSON string with quotes; bytes that are not UTF-8 become \u0080 to
// \u00ff.
void json_print_string(FILE* out, const char* data, size_t size);
// Prints a shortest number that reads back as the same double; null where |value| is not finite.
void json_print_number(FILE* out, double value);

#endif  // LEAT_TOOLS_JSON_H_
