// Parses the values of a command line into tensors: numbers, booleans, strings, complex numbers,
// and nested lists of them in brackets. The subcommands leat run and leat place call it for each
// value that is fed.
//
//   [[1, 2], [3, 4]]   ─▶   shape [2, 2]   ─▶   1 2 3 4
//
// A first pass over the text (measure) follows the brackets and finds the shape; then the tensor is
// allocated, and a second pass (fill) parses the elements in order and can ignore the brackets. So
// the elements are written where they stay. A row that differs in length or depth from the rows
// before it is an error that quotes the place. Commas between elements may be left out.
#include "literal.h"

#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "element.h"
#include "tensorflow/c/tf_tstring.h"

#define MAX_RANK 32

// Sets |status| to an INVALID_ARGUMENT.
static void say(TF_Status* status, const char* format, ...) {
  char message[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  TF_SetStatus(status, TF_INVALID_ARGUMENT, message);
}

static const char* skip_blanks(const char* at) {
  while (isspace((unsigned char)*at)) ++at;
  return at;
}

// Returns the end of the element at |at|.
static const char* skip_word(const char* at) {
  if (*at == '"') {
    for (++at; *at && *at != '"'; ++at) {
      if (*at == '\\' && at[1]) ++at;
    }
    return *at ? at + 1 : at;
  }
  while (*at && !strchr("[],", *at) && !isspace((unsigned char)*at)) ++at;
  return at;
}

// ---- The shape ----------------------------------------------------------------------------------

typedef struct shape_s {
  int rank;  // -1: no element was seen yet
  int64_t dims[MAX_RANK];
} shape_t;

// Measures the value at |at|, which is |depth| brackets deep, and returns where it ends; NULL with
// |status| set where the brackets are not those of an array. shape->dims[i] is -1 until a list at
// depth i was measured.
static const char* measure(const char* at, int depth, shape_t* shape, TF_Status* status) {
  at = skip_blanks(at);
  if (*at != '[') {
    const char* end = skip_word(at);
    if (shape->rank < 0) shape->rank = depth;
    if (end != at && shape->rank == depth) return end;
    say(status, end == at ? "a value is missing before '%.20s'"
                          : "rows have different depths at '%.20s'", at);
    return NULL;
  }
  if (depth >= MAX_RANK || (shape->rank >= 0 && depth >= shape->rank)) {
    say(status, "rows have different depths at '%.20s'", at);
    return NULL;
  }
  int64_t count = 0;
  at = skip_blanks(at + 1);
  while (*at && *at != ']') {
    at = measure(at, depth + 1, shape, status);
    if (!at) return NULL;
    ++count;
    at = skip_blanks(at);
    if (*at == ',') at = skip_blanks(at + 1);
  }
  if (!*at) {
    say(status, "a ']' is missing");
    return NULL;
  }
  if (count == 0 && shape->rank < 0) shape->rank = depth + 1;
  if (shape->dims[depth] >= 0 && shape->dims[depth] != count) {
    say(status, "rows have different lengths, %lld and %lld", (long long)shape->dims[depth],
        (long long)count);
    return NULL;
  }
  shape->dims[depth] = count;
  return at + 1;
}

// ---- The elements -------------------------------------------------------------------------------

// Accepts decimal, hexadecimal and octal numbers that the type can hold.
static bool parse_integer(const element_type_t* type, const char* word, void* element) {
  char* end;
  errno = 0;
  int bits = 8 * type->size;
  if (type->kind == 'u') {
    unsigned long long value = strtoull(word, &end, 0);
    if (errno || *end || *word == '-' || (bits < 64 && value >> bits)) return false;
    memcpy(element, &value, (size_t)type->size);
    return true;
  }
  long long value = strtoll(word, &end, 0);
  if (errno || *end || (bits < 64 && (value >> (bits - 1)) != (value < 0 ? -1 : 0))) return false;
  memcpy(element, &value, (size_t)type->size);
  return true;
}

// Accepts true and false in any case, and 1 and 0.
static bool parse_bool(const char* word, void* element) {
  bool yes = !strcasecmp(word, "true") || !strcmp(word, "1");
  if (!yes && strcasecmp(word, "false") && strcmp(word, "0")) return false;
  *(unsigned char*)element = yes;
  return true;
}

// Accepts "1", "1+2j" and "2j".
static bool parse_complex(const element_type_t* type, const char* word, void* element) {
  char* end;
  double real = strtod(word, &end), imaginary = 0;
  if (end == word) return false;
  if ((*end == 'j' || *end == 'i') && !end[1]) {
    imaginary = real;
    real = 0;
  } else if (*end) {
    const char* second = end;
    imaginary = strtod(second, &end);
    if (end == second || (*end != 'j' && *end != 'i') || end[1]) return false;
  }
  if (type->size == 16) {
    memcpy(element, (double[]){real, imaginary}, 16);
  } else {
    memcpy(element, (float[]){(float)real, (float)imaginary}, 8);
  }
  return true;
}

// A string in quotes may have escapes; one without is taken as it is.
static bool parse_string(const char* word, size_t size, void* element) {
  if (size < 2 || word[0] != '"' || word[size - 1] != '"') {
    TF_TString_Copy(element, word, size);
    return true;
  }
  char* text = malloc(size);
  if (!text) return false;
  size_t used = 0;
  for (size_t i = 1; i + 1 < size; ++i) {
    if (word[i] == '\\' && i + 2 < size) {
      ++i;
      text[used++] = word[i] == 'n' ? '\n' : word[i] == 't' ? '\t' : word[i];
    } else {
      text[used++] = word[i];
    }
  }
  TF_TString_Copy(element, text, used);
  free(text);
  return true;
}

static bool parse_element(const element_type_t* type, const char* word, size_t size,
                          void* element) {
  if (type->kind == 's') return parse_string(word, size, element);
  char text[128], *end;
  if (size >= sizeof text) return false;
  memcpy(text, word, size);
  text[size] = 0;
  switch (type->kind) {
    case 'b': return parse_bool(text, element);
    case 'c': return parse_complex(type, text, element);
    case 'f':
      element_set_real(type, element, strtod(text, &end));
      return end != text && !*end;
    default: return parse_integer(type, text, element);
  }
}

// Parses the elements in order, into a tensor of the right size.
static void fill(const char* at, const element_type_t* type, TF_Tensor* tensor,
                 TF_Status* status) {
  char* element = TF_TensorData(tensor);
  for (int64_t left = TF_TensorElementCount(tensor); left > 0; --left) {
    while (*at == '[' || *at == ']' || *at == ',' || isspace((unsigned char)*at)) ++at;
    const char* end = skip_word(at);
    if (!parse_element(type, at, (size_t)(end - at), element)) {
      say(status, "'%.*s' is no %s", (int)(end - at < 80 ? end - at : 80), at, type->name);
      return;
    }
    element += type->size;
    at = end;
  }
}

// The product of the sizes cannot overflow: each element of the tensor has a word in the text.
TF_Tensor* literal_parse(const char* text, TF_DataType dtype, TF_Status* status) {
  const element_type_t* type = element_type_of(dtype);
  shape_t shape = {.rank = -1};
  for (int i = 0; i < MAX_RANK; ++i) shape.dims[i] = -1;
  if (!type) {
    say(status, "values of type %s cannot be written", element_type_name(dtype));
    return NULL;
  }
  const char* end = measure(text, 0, &shape, status);
  if (!end) return NULL;
  if (*skip_blanks(end)) {
    say(status, "'%.20s' follows the value", skip_blanks(end));
    return NULL;
  }
  // Below a list without elements the sizes are unknown: they count as 0.
  for (int i = 0; i < shape.rank; ++i) {
    if (shape.dims[i] < 0) shape.dims[i] = 0;
  }
  size_t count = 1;
  for (int i = 0; i < shape.rank; ++i) count *= (size_t)shape.dims[i];
  TF_Tensor* tensor =
      TF_AllocateTensor(dtype, shape.dims, shape.rank, count * (size_t)type->size);
  if (!tensor) {
    TF_SetStatus(status, TF_RESOURCE_EXHAUSTED, "no memory for a value");
    return NULL;
  }
  fill(text, type, tensor, status);
  if (TF_GetCode(status) == TF_OK) return tensor;
  TF_DeleteTensor(tensor);
  return NULL;
}
