// Joining pieces into a whole and taking a whole apart (pieces_cpu.h), for Concat, Split and their
// like. Along the joined dimension the whole is a matrix of rows, and each piece has a run of every
// row:
//
//   whole  | a0 b0 b0 | a1 b1 b1 |        pieces  a: | a0 | a1 |     b: | b0 b0 | b1 b1 |
//
// A join and a split copy between the same places in opposite directions, so that both have one
// code, which the flag |is_join| turns around. Plain elements are copied in one of three ways,
// which differ in what a thread gets:
//
//   many rows          bands of rows of about BAND_BYTES: in each band every piece has its turn, so
//                      that the band of the whole stays in the cache while its pieces meet there
//   one row            ranges of pieces, each one memcpy
//   few long runs      one strided copy for each piece, which several threads share
//
// The obvious way, piece after piece over all rows, would read and write every cache line of the
// whole once for each piece that it holds a part of. Objects go piece after piece, because copying
// them may fail.
#include "ops/array/pieces_cpu.h"

#include "base/checked.h"
#include "ops/array/strided_cpu.h"
#include "ops/array/strided_isa.h"

#define BAND_BYTES (1 << 17)
#define COST_OF_BYTE 0.06  // nanoseconds
// Pieces from these sizes on share the bytes of the whole.
#define MIN_SHARED_BYTES 1024
#define MIN_UNALIGNED_SHARED_BYTES (1 << 16)

// One join or split. The pieces are inputs from |first| on for a join, and all outputs for a split.
typedef struct pieces_s {
  leat_kernel_context_t* c;
  int first, count;
  bool is_join;
  leat_tensor_t* whole;
  int64_t outer;      // rows of the whole
  int64_t row_bytes;  // of the whole
  int64_t width;      // bytes of an element
} pieces_t;

static leat_tensor_t* piece_at(const pieces_t* p, int index) {
  return p->is_join ? (leat_tensor_t*)leat_kernel_input(p->c, p->first + index)
                    : leat_kernel_output(p->c, index);
}

// Returns the bytes that piece |index| has of each row.
static int64_t run_bytes(const pieces_t* p, int index) {
  return piece_at(p, index)->shape.element_count / p->outer * p->width;
}

// ---- Rows ---------------------------------------------------------------------------------------

// Copies rows [begin, end) of all pieces. |whole| moves along the first row of the band.
static void copy_band(const pieces_t* p, int64_t begin, int64_t end) {
  const leat_strided_loops_t* loops = LEAT_ISA_SELECT_AVX2(leat_strided_loops);
  char* whole = (char*)p->whole->data + begin * p->row_bytes;
  for (int i = 0; i < p->count; ++i) {
    int64_t run = run_bytes(p, i);
    if (run == 0) continue;
    char* piece = (char*)piece_at(p, i)->data + begin * run;
    leat_strided_plane_t plane = {.count = end - begin, .inner = run};
    plane.to_step = p->is_join ? p->row_bytes : run;
    plane.from_step = p->is_join ? run : p->row_bytes;
    loops->runs(&plane, p->is_join ? piece : whole, p->is_join ? whole : piece);
    whole += run;
  }
}

static void copy_rows(void* data, int64_t begin, int64_t end) {
  const pieces_t* p = data;
  int64_t band = LEAT_MAX(BAND_BYTES / p->row_bytes, 1);
  for (int64_t row = begin; row < end; row += band) {
    copy_band(p, row, LEAT_MIN(row + band, end));
  }
}

// ---- One row ------------------------------------------------------------------------------------

// Copies pieces [begin, end) of a whole of one row. Where they begin is found by adding up the
// pieces before them.
static void copy_pieces(void* data, int64_t begin, int64_t end) {
  const pieces_t* p = data;
  char* whole = p->whole->data;
  for (int64_t i = 0; i < end; ++i) {
    int64_t run = run_bytes(p, (int)i);
    void* piece = piece_at(p, (int)i)->data;
    if (i >= begin && run > 0) {
      memcpy(p->is_join ? whole : piece, p->is_join ? piece : whole, (size_t)run);
    }
    whole += run;
  }
}

// Copies piece after piece with strided copies: for objects, and for few long runs.
static leat_status_t copy_each(const pieces_t* p) {
  int dtype = p->whole->dtype;
  int64_t at = 0, row = p->row_bytes / p->width;
  for (int i = 0; i < p->count; ++i) {
    leat_tensor_t* piece = piece_at(p, i);
    int64_t run = piece->shape.element_count / p->outer;
    void* whole = leat_element_at(p->whole->data, dtype, at);
    if (run > 0) {
      LEAT_RETURN_IF_ERROR(leat_strided_copy_runs(
          p->c, dtype, p->outer, run, p->is_join ? piece->data : whole, p->is_join ? run : row,
          p->is_join ? whole : piece->data, p->is_join ? row : run));
    }
    at += run;
  }
  return leat_ok_status();
}

static leat_status_t copy_all(pieces_t* p) {
  if (p->whole->shape.element_count == 0) return leat_ok_status();
  p->width = (int64_t)leat_dtype_size(p->whole->dtype);
  p->row_bytes = p->whole->shape.element_count / p->outer * p->width;
  if (leat_dtype_is_object(p->whole->dtype)) return copy_each(p);
  if (p->outer == 1) {
    int64_t average = p->row_bytes / p->count;
    if (average > BAND_BYTES && p->count < 64) return copy_each(p);
    leat_kernel_parallel_for_unbroken(p->c, p->count, (double)average * COST_OF_BYTE, copy_pieces,
                                      p);
    return leat_ok_status();
  }
  if (p->outer < 16 && p->row_bytes > 4 * BAND_BYTES) return copy_each(p);
  leat_kernel_parallel_for(p->c, p->outer, (double)p->row_bytes * COST_OF_BYTE, copy_rows, p);
  return leat_ok_status();
}

leat_status_t leat_pieces_join(leat_kernel_context_t* c, int first, int count, int64_t outer) {
  pieces_t pieces = {.c = c,
                     .first = first,
                     .count = count,
                     .is_join = true,
                     .whole = leat_kernel_output(c, 0),
                     .outer = outer};
  return copy_all(&pieces);
}

leat_status_t leat_pieces_split(leat_kernel_context_t* c, int whole, int64_t outer) {
  pieces_t pieces = {.c = c,
                     .count = c->kernel->output_count,
                     .whole = (leat_tensor_t*)leat_kernel_input(c, whole),
                     .outer = outer};
  return copy_all(&pieces);
}

bool leat_pieces_should_share(const void* data, size_t size_bytes) {
  bool is_aligned = (uintptr_t)data % LEAT_BUFFER_ALIGNMENT == 0;
  return size_bytes >= (is_aligned ? MIN_SHARED_BYTES : MIN_UNALIGNED_SHARED_BYTES);
}
