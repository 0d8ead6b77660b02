// JSON as a tree, for what the library tells in JSON.
#ifndef LEAT_TOOLS_JSON_H_
#define LEAT_TOOLS_JSON_H_

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef enum json_kind_e {
  JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_STRING, JSON_ARRAY, JSON_OBJECT
} json_kind_t;

typedef struct json_s json_t;
struct json_s {
  json_kind_t kind;
  char* name;      // of a member of an object
  char* text;      // a string, unescaped; a number as written
  bool truth;
  json_t* first;   // items or members
  json_t* next;    // of the same array or object
};

// NULL when it is no JSON (or nests deeper than 64), or memory is gone.
json_t* json_parse(const char* text, size_t size);
void json_free(json_t* json);  // NULL is allowed
// NULL when |json| is no object or has no such member.
const json_t* json_member(const json_t* json, const char* name);
// The text of a member that is a string or a number; "" otherwise.
const char* json_text(const json_t* json, const char* name);
bool json_truth(const json_t* json, const char* name);

// |size| bytes as a JSON string in quotes; bytes that are no UTF-8 as \u0080 to \u00ff.
void json_print_string(FILE* out, const char* data, size_t size);
// A shortest form that reads back as the same double; null when not finite.
void json_print_number(FILE* out, double value);

#endif  // LEAT_TOOLS_JSON_H_
