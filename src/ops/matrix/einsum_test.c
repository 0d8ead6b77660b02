// Cases of Einsum. The reference takes every combination of values of all labels in turn and adds
// the product of the elements that it names; it knows no matrix products, into which the kernel may
// turn an equation. Sums over nothing and complex numbers have expected values written by hand.
// Malformed equations and shapes that disagree with them must be refused. The last case is there
// for the benchmark only.
#include "op_harness/op_harness.h"

#define LABELS 128  // letters by their code; dimensions of the ellipsis take those below 'A'

typedef struct labels_s {
  int64_t sizes[LABELS];
  int64_t values[LABELS];
} labels_t;

// The labels of one operand, the ellipsis written out: its last dimension is 0, the one before 1.
static int expand(const char* text, int size, int rank, int* out_labels) {
  int count = 0, named = 0;
  for (int i = 0; i < size; ++i) named += text[i] != '.';
  for (int i = 0; i < size; ++i) {
    if (text[i] != '.') {
      out_labels[count++] = text[i];
      continue;
    }
    for (int k = rank - named; k > 0; --k) out_labels[count++] = k - 1;
    i += 2;
  }
  return count;
}

static int64_t find_offset(const labels_t* l, const int* labels, int count,
                           const leat_shape_t* shape) {
  int64_t offset = 0;
  for (int i = 0; i < count; ++i) {
    const int64_t size = leat_shape_dim(shape, i);
    offset = offset * size + (size == 1 ? 0 : l->values[labels[i]]);
  }
  return offset;
}

// The next combination of values; false after the last.
static bool step(labels_t* l) {
  for (int i = 0; i < LABELS; ++i) {
    if (l->sizes[i] == 0) continue;
    if (++l->values[i] < l->sizes[i]) return true;
    l->values[i] = 0;
  }
  return false;
}

static void einsum_reference(const leat_reference_t* r) {
  const char* text = r->op_case->attrs[0].value.s.data;
  const char* arrow = strstr(text, "->");
  const char* comma = memchr(text, ',', (size_t)(arrow - text));
  const char* begins[] = {text, comma ? comma + 1 : arrow, arrow + 2};
  const char* ends[] = {comma ? comma : arrow, arrow, text + strlen(text)};
  const leat_shape_t* shapes[] = {&r->inputs[0].shape,
                                  r->input_count > 1 ? &r->inputs[1].shape : NULL,
                                  &r->outputs[0].shape};
  labels_t l = {0};
  int labels[3][LEAT_CASE_MAX_RANK], counts[3] = {0};
  for (int k = 0; k < 3; ++k) {
    if (!shapes[k]) continue;
    counts[k] = expand(begins[k], (int)(ends[k] - begins[k]), shapes[k]->rank, labels[k]);
    for (int i = 0; i < counts[k]; ++i) {
      int64_t* size = &l.sizes[labels[k][i]];
      if (*size <= 1) *size = leat_shape_dim(shapes[k], i);
    }
  }
  for (int64_t i = 0; i < shapes[2]->element_count; ++i) r->out[0][i] = 0;
  do {
    double product = r->in[0][find_offset(&l, labels[0], counts[0], shapes[0])];
    if (shapes[1]) product *= r->in[1][find_offset(&l, labels[1], counts[1], shapes[1])];
    r->out[0][find_offset(&l, labels[2], counts[2], shapes[2])] += product;
  } while (step(&l));
}

#define X(...) LEAT_RANDOM(FLOAT, LEAT_DIMS(__VA_ARGS__), -2, 2)
#define SUM(text, ...)                          \
  {.op = "Einsum",                              \
   .name = text,                                \
   .attrs = {LEAT_CASE_STR("equation", text)},  \
   .inputs = {__VA_ARGS__},                     \
   .reference = einsum_reference,               \
   .gradient = LEAT_GRADIENT_TWICE}
#define WRONG(text, ...)                        \
  {.op = "Einsum",                              \
   .name = "wrong: " text,                      \
   .attrs = {LEAT_CASE_STR("equation", text)},  \
   .inputs = {__VA_ARGS__},                     \
   .code = LEAT_INVALID_ARGUMENT}

static const leat_op_case_t kCases[] = {
    {.op = "Einsum",
     .name = "every type",
     .attrs = {LEAT_CASE_STR("equation", "abc,cbd->da")},
     .inputs = {X(2, 3, 4), X(4, 3, 5)},
     .types = LEAT_DTYPES_FLOATING,
     .reference = einsum_reference,
     .gradient = LEAT_GRADIENT_TWICE},
    SUM("ij->ji", X(2, 3)),
    SUM("ijk->ki", X(2, 3, 4)),
    SUM("ijk->", X(2, 3, 4)),
    SUM("ii->", X(3, 3)),
    SUM("ii->i", X(3, 3)),
    SUM("i->ii", X(3)),
    SUM("iji->j", X(3, 2, 3)),
    SUM("ij->jji", X(2, 3)),
    SUM("a...->...", X(2, 3, 4)),
    SUM("a...b->b...", X(2, 3, 2, 4)),
    SUM("ij,jk->ik", X(2, 3), X(3, 4)),
    SUM("ij,kj->ki", X(2, 3), X(4, 3)),
    SUM("bij,bjk->bik", X(2, 3, 4), X(2, 4, 5)),
    SUM("bij,bjk->ikb", X(2, 3, 4), X(2, 4, 5)),
    SUM("ibj,bkj->bik", X(3, 2, 4), X(2, 5, 4)),
    SUM("i,j->ij", X(3), X(4)),
    SUM("i,i->", X(3), X(3)),
    SUM(",ab->ba", LEAT_RANDOM(FLOAT, LEAT_SCALAR_DIMS, -1, 1), X(2, 3)),
    SUM("abc,d->ad", X(2, 3, 4), X(5)),
    SUM("abc,cde->ae", X(2, 3, 4), X(4, 2, 3)),
    SUM("aab,bc->ca", X(2, 2, 3), X(3, 4)),
    SUM("ab,bc->aca", X(2, 3), X(3, 4)),
    SUM("...ij,...jk->...ik", X(2, 1, 3, 4), X(5, 4, 2)),
    SUM("...ij,jk->ik...", X(2, 3, 4), X(4, 2)),
    SUM("i...,i...->...", X(3, 2, 1), X(3, 4)),
    SUM("abcd,bad->abc", X(2, 3, 4, 5), X(3, 2, 5)),
    {.op = "Einsum",
     .name = "nothing to add up is 0",
     .attrs = {LEAT_CASE_STR("equation", "ij,jk->ik")},
     .inputs = {LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(1, 0)), LEAT_NO_ITEMS(FLOAT, LEAT_DIMS(0, 2))},
     .expected = {LEAT_ITEMS(FLOAT, LEAT_DIMS(1, 2), 0, 0)}},
    {.op = "Einsum",
     .name = "complex numbers are not conjugated",
     .attrs = {LEAT_CASE_STR("equation", "i,i->")},
     .inputs = {LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1), 0, 1),
                LEAT_ITEMS(COMPLEX64, LEAT_DIMS(1), 0, 1)},
     .expected = {LEAT_ITEMS(COMPLEX64, LEAT_SCALAR_DIMS, -1, 0)}},
    WRONG("ij,jk", X(2, 3), X(3, 4)),
    WRONG("ij->jk", X(2, 3)),
    {.op = "Einsum",
     .name = "one input of two",
     .attrs = {LEAT_CASE_STR("equation", "ij,jk->ik")},
     .inputs = {X(2, 3)},
     .code = LEAT_INVALID_ARGUMENT,
     .message = "but got: 1"},
    WRONG("ij,jk->ik", X(2, 3), X(4, 4)),
    WRONG("ii->i", X(2, 3)),
    WRONG("i.j->ij", X(2, 3)),
    WRONG("...i...->i", X(2, 3)),
    WRONG("i...->i", X(2, 3)),
    {.op = "Einsum",
     .name = "attention",
     .attrs = {LEAT_CASE_STR("equation", "bthd,bshd->bhts")},
     .inputs = {X(4, 128, 8, 64), X(4, 128, 8, 64)},
     .reference = einsum_reference,
     .bench = true,
     .bench_only = true},
};

LEAT_OP_TEST_MAIN(kCases)
