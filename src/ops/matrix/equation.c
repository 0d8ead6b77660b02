// Parses the equation of an Einsum into the labels of its operands and of its output, and prints
// subscripts. The shape function and the gradient (einsum.c) and the kernel (einsum_cpu.c) all call
// this parser, so that none can read an equation otherwise than the others; the gradient prints the
// subscripts of the Einsums that it builds.
//
//   "ij,...jk->...ik"  ─▶  inputs  i j, no ellipsis    j k, ellipsis before label 0
//                          output  i k, ellipsis before label 0
//
// A label may be any byte but '.', so a blank is one too. Only the number of arrows, commas and
// periods is checked here, because whether labels fit depends on shapes, which the callers know. A
// comma behind the arrow is a label that no operand can have, so the callers refuse it. A subscript
// has a fixed array of LEAT_SHAPE_MAX_RANK labels, as many as an operand can have dimensions, and a
// longer one is an error. An equation therefore needs no memory of its own, and the kernel keeps it
// by value.
#include "ops/matrix/equation.h"

// Reads the subscripts of one operand. |ellipsis| becomes the number of labels in front of it, or
// -1.
static leat_status_t parse_subscripts(leat_string_view_t text, leat_subscripts_t* out) {
  out->count = 0;
  out->ellipsis = -1;
  for (size_t i = 0; i < text.size; ++i) {
    if (text.data[i] == '.') {
      const bool is_ellipsis = leat_string_view_starts_with(leat_string_view_from_index(text, i),
                                                            LEAT_SV("..."));
      if (!is_ellipsis || out->ellipsis >= 0) {
        return leat_make_status(LEAT_INVALID_ARGUMENT,
                                "Periods found outside of one ellipsis in subscript '%.*s'",
                                LEAT_SV_ARG(text));
      }
      out->ellipsis = out->count;
      i += 2;
    } else if (out->count == LEAT_SHAPE_MAX_RANK) {
      return leat_make_status(LEAT_INVALID_ARGUMENT, "A subscript has more than %d labels",
                              LEAT_SHAPE_MAX_RANK);
    } else {
      out->labels[out->count++] = (uint8_t)text.data[i];
    }
  }
  return leat_ok_status();
}

// The index of the arrow "->"; SIZE_MAX unless there is exactly one.
static size_t find_arrow(leat_string_view_t text) {
  size_t found = SIZE_MAX;
  for (size_t i = 0; i + 1 < text.size; ++i) {
    if (text.data[i] != '-' || text.data[i + 1] != '>') continue;
    if (found != SIZE_MAX) return SIZE_MAX;
    found = i++;
  }
  return found;
}

leat_status_t leat_equation_parse(leat_string_view_t text, leat_equation_t* out_equation) {
  const size_t arrow = find_arrow(text);
  if (arrow == SIZE_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expecting exactly one '->' in einsum equation: %.*s",
                            LEAT_SV_ARG(text));
  }
  const leat_string_view_t left = {text.data, arrow};
  const size_t comma = leat_string_view_find(left, ',');
  const size_t first = comma == SIZE_MAX ? arrow : comma;
  const leat_string_view_t second = leat_string_view_from_index(left, first + 1);
  if (leat_string_view_find(second, ',') != SIZE_MAX) {
    return leat_make_status(LEAT_INVALID_ARGUMENT,
                            "Expecting 1 or 2 input subscripts in equation '%.*s'",
                            LEAT_SV_ARG(text));
  }
  out_equation->input_count = comma == SIZE_MAX ? 1 : 2;
  LEAT_RETURN_IF_ERROR(parse_subscripts((leat_string_view_t){text.data, first},
                                        &out_equation->inputs[0]));
  LEAT_RETURN_IF_ERROR(parse_subscripts(second, &out_equation->inputs[1]));
  return parse_subscripts(leat_string_view_from_index(text, arrow + 2), &out_equation->output);
}

bool leat_subscripts_has(const leat_subscripts_t* subscripts, int label) {
  for (int i = 0; i < subscripts->count; ++i) {
    if (subscripts->labels[i] == label) return true;
  }
  return false;
}

void leat_subscripts_print(const leat_subscripts_t* subscripts, char* out_text) {
  for (int i = 0; i <= subscripts->count; ++i) {
    if (i == subscripts->ellipsis) {
      memcpy(out_text, "...", 3);
      out_text += 3;
    }
    *out_text++ = i < subscripts->count ? (char)subscripts->labels[i] : '\0';
  }
}
