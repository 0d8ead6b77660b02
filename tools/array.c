// Prints tensors for people, in the format of numpy 1.14 and later, and for programs, as JSON.
// numpy's format is used because readers know it and can compare it by eye with their own arrays.
//
// All numbers of an array are printed in one format, which depends on the largest and smallest of
// them. So the elements that will be shown are visited three times:
//
//     range    smallest and largest absolute value    -> with an exponent or without
//     digits   digits that each value needs           -> columns before and after the point
//     print    each element, padded to these columns, wrapped at 75 columns
//
// A value is printed with the fewest digits that read back as the same element of the tensor's
// type, at most eight after the point. Of arrays with more than 1,000 elements only the first and
// last three items of each axis are shown and visited, as numpy does. A scalar is printed with all
// its digits.
#include "array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "element.h"
#include "json.h"
#include "tensorflow/c/tf_tstring.h"

#define LINE_COLUMNS 75
#define SUMMARY_ABOVE 1000
#define EDGE_ITEMS 3
#define MAX_FRACTION 8
#define WORD_SIZE 64

typedef struct format_s {
  bool with_exponent;
  int fraction;       // digits after the point
  int left, right;    // columns before and after the point
  int unfinite;       // columns of the widest nan or infinity
  bool has_finite;
  double smallest, largest;  // absolute values, of those that are finite and not zero
} format_t;

typedef struct printer_s {
  FILE* out;
  const TF_Tensor* tensor;
  const element_type_t* type;
  const char* data;
  int rank;
  bool summarize;
  format_t real, imaginary;
  int width;   // columns of an integer
  int column;  // where the next character of the line goes
  int blanks;  // blanks after the last word, which are not printed where the line ends
} printer_t;

// ---- Numbers ------------------------------------------------------------------------------------

// Finds the fewest digits after the point with which |value| reads back. Where MAX_FRACTION do not
// suffice, so many are used, without the zeros at their end.
static int fraction_digits(const element_type_t* type, double value, bool with_exponent) {
  char text[400];
  for (int digits = 0; digits < MAX_FRACTION; ++digits) {
    snprintf(text, sizeof text, with_exponent ? "%.*e" : "%.*f", digits, value);
    if (element_reads_back(type, strtod(text, NULL), value)) return digits;
  }
  snprintf(text, sizeof text, with_exponent ? "%.*e" : "%.*f", MAX_FRACTION, value);
  const char* last = strchr(text, '.') + MAX_FRACTION;
  int digits = MAX_FRACTION;
  while (digits > 0 && *last-- == '0') --digits;
  return digits;
}

static void measure_range(format_t* f, double value) {
  double size = fabs(value);
  if (!isfinite(value)) return;
  if (size > 0 && (!f->has_finite || size < f->smallest)) f->smallest = size;
  if (size > 0 && (!f->has_finite || size > f->largest)) f->largest = size;
  if (size > 0) f->has_finite = true;
}

// From this size on, numpy prints values with an exponent: their type has no digits left for the
// fraction.
static double exact_limit(const element_type_t* type) {
  switch (type->dtype) {
    case TF_HALF: return 1e3;
    case TF_BFLOAT16: return 1e2;
    case TF_FLOAT: case TF_COMPLEX64: return 1e6;
    default: return 1e8;
  }
}

static void choose_notation(format_t* f, const element_type_t* type) {
  f->with_exponent = f->has_finite && (f->largest >= exact_limit(type) || f->smallest < 1e-4 ||
                                       f->largest / f->smallest > 1000);
}

// Widens |f| for |value|. With |plus|, a sign is always printed, as in an imaginary part.
static void measure_digits(format_t* f, const element_type_t* type, double value, bool plus) {
  char text[400];
  if (!isfinite(value)) {
    int width = value < 0 || (plus && !isnan(value)) ? 4 : 3;
    if (width > f->unfinite) f->unfinite = width;
    return;
  }
  int digits = fraction_digits(type, value, f->with_exponent);
  if (digits > f->fraction) f->fraction = digits;
  snprintf(text, sizeof text, f->with_exponent ? "%+.*e" : "%+.*f", digits, value);
  int before = (int)strcspn(text, ".e") - (text[0] == '+' && !plus);
  if (before > f->left) f->left = before;
  int after = digits + (f->with_exponent ? (int)strlen(strchr(text, 'e')) : 0);
  if (after > f->right) f->right = after;
}

// Makes nan and infinity fit: they are aligned to the right in the columns of a whole number.
static void fit_unfinite(format_t* f) {
  if (f->unfinite > f->left + 1 + f->right) f->left = f->unfinite - 1 - f->right;
}

// Formats a number with the blanks that align it in its columns. |plus| is for the imaginary part
// of a complex number: its sign is printed always, and follows the real part.
static void format_real(const format_t* f, const element_type_t* type, double value, bool plus,
                        char word[WORD_SIZE * 8]) {
  char text[400];
  if (!isfinite(value)) {
    const char* sign = value < 0 ? "-" : plus ? "+" : "";
    snprintf(text, sizeof text, "%s%s", sign, isnan(value) ? "nan" : "inf");
    snprintf(word, WORD_SIZE * 8, "%*s", f->left + f->right + 1, text);
    return;
  }
  int digits = f->with_exponent ? f->fraction : fraction_digits(type, value, false);
  snprintf(text, sizeof text, f->with_exponent ? "%+.*e" : "%+.*f", digits, value);
  const char* number = text[0] == '+' && !plus ? text + 1 : text;
  // The point is printed even where no digit follows.
  int before = (int)strcspn(number, ".e");
  int left = f->left - before, right = f->right - digits;
  snprintf(word, WORD_SIZE * 8, "%*s%.*s%s%s%*s", left, "", before, number,
           digits == 0 ? "." : "", number + before, f->with_exponent ? 0 : right, "");
}

// Formats a scalar with as many digits as it needs: "3.0", "1e-05".
static void format_single(const element_type_t* type, double value, char* word, size_t size) {
  if (!isfinite(value)) {
    snprintf(word, size, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(word, size, "%.*g", digits, value);
    if (element_reads_back(type, strtod(word, NULL), value)) break;
  }
  double magnitude = fabs(value);
  if (magnitude == 0 || (magnitude >= 1e-4 && magnitude < 1e16)) {
    for (int digits = 1; digits <= 24; ++digits) {
      snprintf(word, size, "%.*f", digits, value);
      if (element_reads_back(type, strtod(word, NULL), value)) break;
    }
  }
}

// ---- Elements -----------------------------------------------------------------------------------

// Prints the string as a Python bytes literal and returns the number of columns.
static int print_string(FILE* out, const TF_TString* string) {
  const char* data = TF_TString_GetDataPointer(string);
  size_t size = TF_TString_GetSize(string);
  int columns = 3;
  fputs("b'", out);
  for (size_t i = 0; i < size; ++i) {
    unsigned char c = (unsigned char)data[i];
    if (c == '\'' || c == '\\') {
      columns += fprintf(out, "\\%c", c);
    } else if (c == '\n') {
      columns += fprintf(out, "\\n");
    } else if (c < 0x20 || c >= 0x7f) {
      columns += fprintf(out, "\\x%02x", c);
    } else {
      columns += fprintf(out, "%c", c);
    }
  }
  fputc('\'', out);
  return columns;
}

static void format_integer(const element_type_t* type, const void* element, char* word,
                           size_t size) {
  int64_t value = element_integer(type, element);
  if (type->kind == 'u') {
    snprintf(word, size, "%llu", (unsigned long long)value);
  } else {
    snprintf(word, size, "%lld", (long long)value);
  }
}

// Appends the imaginary part and a j, which stands before the blanks that align the number.
static void join_complex(char* word, const char* imaginary) {
  int size = (int)strlen(imaginary), used = (int)strlen(word), blanks = 0;
  while (blanks < size && imaginary[size - 1 - blanks] == ' ') ++blanks;
  snprintf(word + used, (size_t)size + 2, "%.*sj%*s", size - blanks, imaginary, blanks, "");
}

static const void* element_at(const printer_t* p, int64_t index) {
  return p->data + index * p->type->size;
}

static void format_element(const printer_t* p, int64_t index, char word[2 * WORD_SIZE * 8]) {
  const void* element = element_at(p, index);
  char number[WORD_SIZE * 8];
  switch (p->type->kind) {
    case 'b': strcpy(word, element_integer(p->type, element) ? " True" : "False"); break;
    case 'f': format_real(&p->real, p->type, element_real(p->type, element), false, word); break;
    case 'c':
      format_real(&p->real, p->type, element_real(p->type, element), false, word);
      format_real(&p->imaginary, p->type, element_imaginary(p->type, element), true, number);
      join_complex(word, number);
      break;
    default:
      format_integer(p->type, element, number, sizeof number);
      snprintf(word, WORD_SIZE * 8, "%*s", p->width, number);
  }
}

// ---- Visiting the elements that are shown -------------------------------------------------------

typedef void (*visit_fn_t)(printer_t* p, int64_t index);

// The number of elements in one item of |axis|.
static int64_t elements_below(const printer_t* p, int axis) {
  int64_t count = 1;
  for (int i = axis + 1; i < p->rank; ++i) count *= TF_Dim(p->tensor, i);
  return count;
}

// Sets the range [begin, end) of the items of |axis| that are not shown; it is empty at the axis's
// end where all are shown.
static void left_out(const printer_t* p, int axis, int64_t* out_begin, int64_t* out_end) {
  int64_t size = TF_Dim(p->tensor, axis);
  bool some = p->summarize && size > 2 * EDGE_ITEMS;
  *out_begin = some ? EDGE_ITEMS : size;
  *out_end = some ? size - EDGE_ITEMS : size;
}

static void visit_shown(printer_t* p, int axis, int64_t base, visit_fn_t visit) {
  if (axis == p->rank) {
    visit(p, base);
    return;
  }
  int64_t begin, end, below = elements_below(p, axis), size = TF_Dim(p->tensor, axis);
  left_out(p, axis, &begin, &end);
  for (int64_t i = 0; i < size; ++i) {
    if (i == begin) i = end;
    if (i < size) visit_shown(p, axis + 1, base + i * below, visit);
  }
}

static void visit_range(printer_t* p, int64_t index) {
  const void* element = element_at(p, index);
  measure_range(&p->real, element_real(p->type, element));
  measure_range(&p->imaginary, element_imaginary(p->type, element));
}

static void visit_digits(printer_t* p, int64_t index) {
  char word[WORD_SIZE];
  const void* element = element_at(p, index);
  if (p->type->kind == 'f' || p->type->kind == 'c') {
    measure_digits(&p->real, p->type, element_real(p->type, element), false);
    measure_digits(&p->imaginary, p->type, element_imaginary(p->type, element), true);
    return;
  }
  format_integer(p->type, element, word, sizeof word);
  if ((int)strlen(word) > p->width) p->width = (int)strlen(word);
}

// Prints a word after a blank, or on a new line where it would cross LINE_COLUMNS.
static void print_word(printer_t* p, const char* word, int indent) {
  int columns = (int)strlen(word), size = columns;
  while (size > 0 && word[size - 1] == ' ') --size;
  if (p->column > indent && p->column + 1 + columns > LINE_COLUMNS - indent) {
    fprintf(p->out, "\n%*s", indent, "");
    p->column = indent;
  } else if (p->column > indent) {
    fprintf(p->out, "%*s", p->blanks + 1, "");
    ++p->column;
  }
  fprintf(p->out, "%.*s", size, word);
  p->column += columns;
  p->blanks = columns - size;
}

// Prints the items of the last axis that begin at element |base|, with lines wrapped to |indent|.
static void print_row(printer_t* p, int64_t base, int indent) {
  int64_t begin, end, size = TF_Dim(p->tensor, p->rank - 1);
  char word[2 * WORD_SIZE * 8];
  left_out(p, p->rank - 1, &begin, &end);
  p->column = indent;
  p->blanks = 0;
  for (int64_t i = 0; i < size; ++i) {
    if (i == begin) {
      print_word(p, "...", indent);
      i = end;
    }
    if (p->type->kind == 's') {
      if (i) fputc(' ', p->out);
      print_string(p->out, element_at(p, base + i));
    } else {
      format_element(p, base + i, word);
      print_word(p, word, indent);
    }
  }
}

// Prints the part of the array below |axis| that begins at element |base|.
static void print_axis(printer_t* p, int axis, int64_t base) {
  fputc('[', p->out);
  if (axis == p->rank - 1) {
    print_row(p, base, axis + 1);
    fprintf(p->out, "%*s]", p->blanks, "");
    return;
  }
  int64_t begin, end, below = elements_below(p, axis), size = TF_Dim(p->tensor, axis);
  left_out(p, axis, &begin, &end);
  for (int64_t i = 0; i < size; ++i) {
    // Items of outer axes are separated by empty lines, one for each axis further out.
    for (int k = axis; i && k < p->rank - 1; ++k) fputc('\n', p->out);
    if (i) fprintf(p->out, "%*s", axis + 1, "");
    if (i == begin) {
      fputs("...", p->out);
      for (int k = axis; k < p->rank - 1; ++k) fputc('\n', p->out);
      fprintf(p->out, "%*s", axis + 1, "");
      i = end;
    }
    print_axis(p, axis + 1, base + i * below);
  }
  fputc(']', p->out);
}

static void print_scalar(printer_t* p) {
  char word[400];
  const void* element = p->data;
  switch (p->type->kind) {
    case 's': print_string(p->out, element); return;
    case 'b': fputs(element_integer(p->type, element) ? "True" : "False", p->out); return;
    case 'f': format_single(p->type, element_real(p->type, element), word, sizeof word); break;
    case 'c':
      format_single(p->type, element_real(p->type, element), word, sizeof word);
      fprintf(p->out, "(%s", word);
      format_single(p->type, element_imaginary(p->type, element), word, sizeof word);
      fprintf(p->out, "%s%sj)", word[0] == '-' ? "" : "+", word);
      return;
    default: format_integer(p->type, element, word, sizeof word);
  }
  fputs(word, p->out);
}

static printer_t make_printer(FILE* out, const TF_Tensor* tensor) {
  return (printer_t){.out = out,
                     .tensor = tensor,
                     .type = element_type_of(TF_TensorType(tensor)),
                     .data = TF_TensorData(tensor),
                     .rank = TF_NumDims(tensor),
                     .summarize = TF_TensorElementCount(tensor) > SUMMARY_ABOVE};
}

void array_print(FILE* out, const TF_Tensor* tensor) {
  printer_t p = make_printer(out, tensor);
  if (!p.type) {
    fprintf(out, "<%s>", element_type_name(TF_TensorType(tensor)));
  } else if (TF_TensorElementCount(tensor) == 0) {
    fputs("[]", out);
  } else if (p.rank == 0) {
    print_scalar(&p);
  } else {
    if (p.type->kind == 'f' || p.type->kind == 'c') {
      visit_shown(&p, 0, 0, visit_range);
      choose_notation(&p.real, p.type);
      choose_notation(&p.imaginary, p.type);
    }
    if (p.type->kind != 's') visit_shown(&p, 0, 0, visit_digits);
    fit_unfinite(&p.real);
    fit_unfinite(&p.imaginary);
    print_axis(&p, 0, 0);
  }
  fputc('\n', out);
}

void array_print_type(FILE* out, const TF_Tensor* tensor) {
  int rank = TF_NumDims(tensor);
  fprintf(out, "%s (", element_type_name(TF_TensorType(tensor)));
  for (int i = 0; i < rank; ++i) {
    fprintf(out, "%s%lld", i ? ", " : "", (long long)TF_Dim(tensor, i));
  }
  fputs(rank == 1 ? ",)" : ")", out);
}

// ---- JSON ---------------------------------------------------------------------------------------

static void print_json_real(printer_t* p, double value) {
  char word[400];
  if (!isfinite(value)) {
    fputs("null", p->out);
    return;
  }
  for (int digits = 1; digits <= 17; ++digits) {
    snprintf(word, sizeof word, "%.*g", digits, value);
    if (element_reads_back(p->type, strtod(word, NULL), value)) break;
  }
  fputs(word, p->out);
}

static void print_json_element(printer_t* p, int64_t index) {
  char word[WORD_SIZE];
  const void* element = element_at(p, index);
  switch (p->type->kind) {
    case 's':
      json_print_string(p->out, TF_TString_GetDataPointer(element), TF_TString_GetSize(element));
      return;
    case 'b': fputs(element_integer(p->type, element) ? "true" : "false", p->out); return;
    case 'f': print_json_real(p, element_real(p->type, element)); return;
    case 'c':
      fputc('[', p->out);
      print_json_real(p, element_real(p->type, element));
      fputs(", ", p->out);
      print_json_real(p, element_imaginary(p->type, element));
      fputc(']', p->out);
      return;
    default:
      format_integer(p->type, element, word, sizeof word);
      fputs(word, p->out);
  }
}

static void print_json_axis(printer_t* p, int axis, int64_t base) {
  if (axis == p->rank) {
    print_json_element(p, base);
    return;
  }
  int64_t below = elements_below(p, axis);
  fputc('[', p->out);
  for (int64_t i = 0; i < TF_Dim(p->tensor, axis); ++i) {
    if (i) fputs(", ", p->out);
    print_json_axis(p, axis + 1, base + i * below);
  }
  fputc(']', p->out);
}

void array_print_json(FILE* out, const TF_Tensor* tensor) {
  printer_t p = make_printer(out, tensor);
  fprintf(out, "{\"dtype\": \"%s\", \"shape\": [", element_type_name(TF_TensorType(tensor)));
  for (int i = 0; i < p.rank; ++i) {
    fprintf(out, "%s%lld", i ? ", " : "", (long long)TF_Dim(tensor, i));
  }
  fputs("], \"value\": ", out);
  if (p.type) {
    print_json_axis(&p, 0, 0);
  } else {
    fputs("null", out);
  }
  fputc('}', out);
}
