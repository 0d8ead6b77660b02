// The product of floats by a matrix unit of bfloat16 (gemm_split.h says why it is exact enough),
// for one thread. Each float is split into three bfloat16 parts while it is packed into tiles of
// the unit.
//
// One of A and B, the one with fewer lines, is the staying operand: a block of it is packed at once
// and rests in the second-level cache. The other one passes: each of its panels is multiplied by
// all panels of the block. While the unit multiplies, the vector registers have nothing to do; so
// the next passing panel is packed, and the sums of the last tile are added to D, between the
// unit's instructions ("aside").
//
//   line    a row of A, a column of B
//   strip   16 lines and 32 of the depth: a tile of 1 KiB for each part. A row of A's tile and a
//           column of B's hold pairs along the depth: (p, p + 16) for p < 16
//   panel   two strips side by side, step after step of the depth; the last ones end in zeros
//
// A pair is a lane of 32 bits, so that what lies along a row in memory comes out along a row of the
// tile. Where a tile wants it the other way (a transposed A, a transposed B), the strip is
// transposed first. The depth is cut by its length alone, and sums are added in a fixed order, so
// that the result does not depend on the number of threads.
#include "device/cpu/gemm_split.h"

#include "base/checked.h"
#include "base/cpu.h"

#if defined(__AMX_BF16__)
#include <immintrin.h>
#include <string.h>

#define ALWAYS_INLINE static inline __attribute__((always_inline))

#define STRIP 16  // lines
#define PANEL 32  // lines
#define STEP 32   // of the depth
#define TILE_BYTES 1024
#define PART_BYTES (2 * TILE_BYTES)  // bytes of one part of a panel, for one step of the depth
#define STEP_BYTES (3 * PART_BYTES)
#define MOST_DEPTH 512
#define BLOCK_BYTES (768 * 1024)  // bytes of the staying block, in a second-level cache of 2 MiB

static int64_t round_up(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

static int64_t panel_bytes(int64_t depth) { return round_up(depth, STEP) / STEP * STEP_BYTES; }

// The depth of one pass. It depends on |k| alone: the order of sums must not depend on the number
// of threads.
static int64_t cut_depth(int64_t k) {
  const int64_t pieces = (k + MOST_DEPTH - 1) / MOST_DEPTH;
  return round_up((k + pieces - 1) / pieces, STEP);
}

// The number of |lines| of the staying operand that are packed at a time.
static int64_t cut_lines(int64_t lines, int64_t depth) {
  return LEAT_MIN(round_up(lines, PANEL), BLOCK_BYTES / panel_bytes(depth) * PANEL);
}

// The bytes of the staying block and two passing panels.
static size_t find_packed_bytes(int64_t rows, int64_t columns, int64_t k) {
  const int64_t depth = cut_depth(k);
  return (size_t)((cut_lines(LEAT_MIN(rows, columns), depth) / PANEL + 2) * panel_bytes(depth));
}

// ---- Packing ------------------------------------------------------------------------------------

// A or B as it lies in memory.
typedef struct operand_s {
  const float* data;
  int64_t ld;
  bool depth_in_rows;  // a row in memory holds lines, at one depth; else the depth of one line
  bool is_transposed;  // is transposed on its way into a tile
} operand_t;

static const float* find_element(const operand_t* x, int64_t line, int64_t p) {
  return x->data + (x->depth_in_rows ? p * x->ld + line : line * x->ld + p);
}

// 16 x 16 floats whose rows lie |ld| apart. Only |rows| rows and the lanes of |lanes| exist; the
// others are taken as zeros.
typedef struct square_s {
  const float* data;
  int64_t ld;
  int rows;
  __mmask16 lanes;
} square_t;

static bool is_whole(const square_t* square) {
  return square->rows == STRIP && square->lanes == 0xffff;
}

ALWAYS_INLINE __m512 load_row(const square_t* square, int row) {
  return row < square->rows ? _mm512_maskz_loadu_ps(square->lanes, square->data + row * square->ld)
                            : _mm512_setzero_ps();
}

ALWAYS_INLINE __m512 low_quads(__m512 x, __m512 y) { return _mm512_shuffle_f32x4(x, y, 0x88); }
ALWAYS_INLINE __m512 high_quads(__m512 x, __m512 y) { return _mm512_shuffle_f32x4(x, y, 0xdd); }
ALWAYS_INLINE __m512 low_pairs(__m512 x, __m512 y) {
  return _mm512_castpd_ps(_mm512_unpacklo_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
}
ALWAYS_INLINE __m512 high_pairs(__m512 x, __m512 y) {
  return _mm512_castpd_ps(_mm512_unpackhi_pd(_mm512_castps_pd(x), _mm512_castps_pd(y)));
}

// Writes the transposed square to |to| [16][16]; |square| then describes what lies there.
static void transpose_square(square_t* square, float* to) {
  __m512 columns[4][4];  // [i][j]: columns j, j + 4, j + 8, j + 12 of rows 4 i to 4 i + 3
  LEAT_UNROLL for (int i = 0; i < 4; ++i) {
    const __m512 r0 = load_row(square, 4 * i), r1 = load_row(square, 4 * i + 1);
    const __m512 r2 = load_row(square, 4 * i + 2), r3 = load_row(square, 4 * i + 3);
    const __m512 low01 = _mm512_unpacklo_ps(r0, r1), high01 = _mm512_unpackhi_ps(r0, r1);
    const __m512 low23 = _mm512_unpacklo_ps(r2, r3), high23 = _mm512_unpackhi_ps(r2, r3);
    columns[i][0] = low_pairs(low01, low23);
    columns[i][1] = high_pairs(low01, low23);
    columns[i][2] = low_pairs(high01, high23);
    columns[i][3] = high_pairs(high01, high23);
  }
  LEAT_UNROLL for (int j = 0; j < 4; ++j) {
    const __m512 even01 = low_quads(columns[0][j], columns[1][j]);
    const __m512 odd01 = high_quads(columns[0][j], columns[1][j]);
    const __m512 even23 = low_quads(columns[2][j], columns[3][j]);
    const __m512 odd23 = high_quads(columns[2][j], columns[3][j]);
    _mm512_store_ps(to + j * STRIP, low_quads(even01, even23));
    _mm512_store_ps(to + (j + 4) * STRIP, low_quads(odd01, odd23));
    _mm512_store_ps(to + (j + 8) * STRIP, high_quads(even01, even23));
    _mm512_store_ps(to + (j + 12) * STRIP, high_quads(odd01, odd23));
  }
  *square = (square_t){to, STRIP, STRIP, 0xffff};
}

// Rounds to the nearest numbers of 8 significant bits.
ALWAYS_INLINE __m512i round_to_part(__m512 x) {
  const __m512i half = _mm512_set1_epi32(0x8000), part = _mm512_set1_epi32((int)0xffff0000);
  return _mm512_and_si512(_mm512_add_epi32(_mm512_castps_si512(x), half), part);
}

ALWAYS_INLINE __m512i join_pairs(__m512i low, __m512i high) {
  return _mm512_or_si512(high, _mm512_srli_epi32(low, 16));
}

// Splits 16 pairs into three parts and stores a row of each part's tile. What is left after two
// parts has at most 8 bits itself, so that the third part is exact.
ALWAYS_INLINE void split_pairs(__m512 low, __m512 high, char* to) {
  LEAT_UNROLL for (int part = 0; part < 2; ++part, to += PART_BYTES) {
    const __m512i rounded_low = round_to_part(low), rounded_high = round_to_part(high);
    _mm512_store_si512(to, join_pairs(rounded_low, rounded_high));
    low = _mm512_sub_ps(low, _mm512_castsi512_ps(rounded_low));
    high = _mm512_sub_ps(high, _mm512_castsi512_ps(rounded_high));
  }
  _mm512_store_si512(to, join_pairs(_mm512_castps_si512(low), _mm512_castps_si512(high)));
}

// Packs a row and updates the largest magnitude: the bits without the sign, doubled, compare as
// integers.
ALWAYS_INLINE __m512i pack_row(__m512 low, __m512 high, char* to, __m512i largest) {
  split_pairs(low, high, to);
  const __m512i low_bits = _mm512_slli_epi32(_mm512_castps_si512(low), 1);
  const __m512i high_bits = _mm512_slli_epi32(_mm512_castps_si512(high), 1);
  return _mm512_max_epu32(largest, _mm512_max_epu32(low_bits, high_bits));
}

static int clamp(int64_t count) { return (int)LEAT_MAX(0, LEAT_MIN(count, STRIP)); }
static __mmask16 mask_of(int64_t count) { return (__mmask16)((1u << clamp(count)) - 1); }

// Packs a panel strip by strip, a few rows of tiles at a time, so that it can be interleaved with
// multiplications.
typedef struct packer_s {
  operand_t x;
  int64_t lines, depth;  // at most PANEL lines
  int64_t line, p;       // of the next strip
  int64_t ahead;         // distance in memory to data that will be packed soon, to be prefetched
  char* packed;
  __m512i largest;  // the largest magnitude so far
  // The strip that is being packed: how many rows are left, where they are and where they go.
  int rows_left;
  const float *low, *high;
  int64_t low_ld, high_ld;
  char* to;
  float transposed[2][STRIP * STRIP] LEAT_ALIGNED(64);
} packer_t;

// The square of the operand at |line| and depth |p|.
static square_t find_square(const packer_t* packer, int64_t line, int64_t p) {
  const operand_t* x = &packer->x;
  const int64_t lines = packer->lines - line, depth = packer->depth - p;
  if (depth <= 0) return (square_t){x->data, 0, 0, 0};
  if (x->depth_in_rows) {
    return (square_t){x->data + p * x->ld + line, x->ld, clamp(depth), mask_of(lines)};
  }
  return (square_t){x->data + line * x->ld + p, x->ld, clamp(lines), mask_of(depth)};
}

// Advances to the next strip, in the order that reads memory along its rows.
static void move_on(packer_t* packer) {
  if (packer->x.depth_in_rows) {
    packer->line += STRIP;
    if (packer->line < packer->lines) return;
    packer->line = 0;
    packer->p += STEP;
  } else {
    packer->p += STEP;
    if (packer->p < packer->depth) return;
    packer->p = 0;
    packer->line += STRIP;
  }
}

static bool has_strips(const packer_t* packer) {
  return packer->p < packer->depth && packer->line < packer->lines;
}

// Makes the next strip the current one. A strip at the border of the matrix is packed at once, with
// masks.
static void begin_strip(packer_t* packer) {
  square_t low = find_square(packer, packer->line, packer->p);
  square_t high = find_square(packer, packer->line, packer->p + STRIP);
  char* to = packer->packed + packer->p / STEP * STEP_BYTES + packer->line / STRIP * TILE_BYTES;
  move_on(packer);
  if (packer->x.is_transposed) {
    transpose_square(&low, packer->transposed[0]);
    transpose_square(&high, packer->transposed[1]);
  }
  if (is_whole(&low) && is_whole(&high)) {
    packer->rows_left = STRIP;
    packer->low = low.data;
    packer->low_ld = low.ld;
    packer->high = high.data;
    packer->high_ld = high.ld;
    packer->to = to;
    return;
  }
  for (int row = 0; row < STRIP; ++row, to += 64) {
    packer->largest = pack_row(load_row(&low, row), load_row(&high, row), to, packer->largest);
  }
}

// Packs |count| rows of the current strip, or as many as are left.
ALWAYS_INLINE void pack_rows(packer_t* packer, int count) {
  if (packer->rows_left < count) count = packer->rows_left;
  packer->rows_left -= count;
  // Local copies: for all the compiler knows, the stores below could overwrite the packer.
  const float *low = packer->low, *high = packer->high;
  const int64_t low_ld = packer->low_ld, high_ld = packer->high_ld, ahead = packer->ahead;
  __m512i largest = packer->largest;
  char* to = packer->to;
  for (; count > 0; --count, low += low_ld, high += high_ld, to += 64) {
    _mm_prefetch((const char*)(low + ahead), _MM_HINT_T1);
    _mm_prefetch((const char*)(high + ahead), _MM_HINT_T1);
    largest = pack_row(_mm512_loadu_ps(low), _mm512_loadu_ps(high), to, largest);
  }
  packer->low = low;
  packer->high = high;
  packer->to = to;
  packer->largest = largest;
}

// Packs what is left of the panel; returns whether all its numbers are in the range that suits the
// unit.
static bool finish_packing(packer_t* packer) {
  pack_rows(packer, STRIP);
  while (has_strips(packer)) {
    begin_strip(packer);
    pack_rows(packer, STRIP);
  }
  const uint32_t most = _mm512_reduce_max_epu32(packer->largest);
  const uint32_t lowest = (127u - 40) << 24, highest = (127u + 60) << 24;
  return most == 0 || (most >= lowest && most < highest);
}

// ---- Multiplying --------------------------------------------------------------------------------

// Tiles 0 to 3 hold sums, 4 and 5 strips of A, 6 and 7 strips of B.
static void configure_tiles(void) {
  struct {
    uint8_t palette, first_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
  } layout LEAT_ALIGNED(64) = {.palette = 1};
  for (int t = 0; t < 8; ++t) {
    layout.row_bytes[t] = 64;
    layout.rows[t] = STRIP;
  }
  _tile_loadconfig(&layout);
}

// The intrinsics need tile numbers as literals.
#define LOAD_PART(tile, next, strips, panel, part)                                     \
  do {                                                                                 \
    _tile_loadd(tile, (panel) + (part)*PART_BYTES, 64);                                \
    if ((strips) > 1) _tile_loadd(next, (panel) + (part)*PART_BYTES + TILE_BYTES, 64); \
  } while (0)
#define LOAD_A(part) LOAD_PART(4, 5, a_strips, a, part)
#define LOAD_B(part) LOAD_PART(6, 7, b_strips, b, part)

// Adds the products of one or two strips of A and one or two strips of B to the sums.
#define MULTIPLY_PARTS(a_strips, b_strips)                         \
  do {                                                             \
    _tile_dpbf16ps(0, 4, 6);                                       \
    if ((b_strips) > 1) _tile_dpbf16ps(1, 4, 7);                   \
    if ((a_strips) > 1) _tile_dpbf16ps(2, 5, 6);                   \
    if ((a_strips) > 1 && (b_strips) > 1) _tile_dpbf16ps(3, 5, 7); \
  } while (0)

// A tile of C: where it is stored and what is added to it.
typedef struct target_s {
  int64_t rows, columns;
  float* c;
  const float* d;  // or NULL
  int64_t ldd;
} target_t;

// The sums of the last tile, which are stored while those of the next one are computed.
typedef struct sums_s {
  target_t target;
  int64_t row, ldc;  // the next row to be stored; target.rows and above: none is left
  const float* last;
  float tiles[2][PANEL * PANEL] LEAT_ALIGNED(64);
} sums_t;

// C = sums + D for |count| rows.
ALWAYS_INLINE void store_rows(sums_t* sums, int64_t count) {
  const target_t* target = &sums->target;
  const int64_t end = LEAT_MIN(target->rows, sums->row + count);
  for (; sums->row < end; ++sums->row) {
    for (int64_t j = 0; j < target->columns; j += STRIP) {
      const __mmask16 lanes = mask_of(target->columns - j);
      __m512 sum = _mm512_load_ps(sums->last + sums->row * PANEL + j);
      if (target->d) {
        const float* d = target->d + sums->row * target->ldd + j;
        sum = _mm512_add_ps(sum, _mm512_maskz_loadu_ps(lanes, d));
      }
      _mm512_mask_storeu_ps(target->c + sums->row * sums->ldc + j, lanes, sum);
    }
  }
}

// What the vector registers do while the unit multiplies.
typedef struct aside_s {
  packer_t packer;
  sums_t sums;
  int64_t rows;  // the rows of sums stored at a time
} aside_t;

ALWAYS_INLINE void do_aside(aside_t* aside, int packed_rows) {
  pack_rows(&aside->packer, packed_rows);
  store_rows(&aside->sums, aside->rows);
}

// The sums of a panel of A and a panel of B. The products of parts are added from the smallest to
// the largest, ordered so that each needs only one new operand.
ALWAYS_INLINE void multiply_strips(const int a_strips, const int b_strips, int64_t steps,
                                   const char* a, const char* b, float* sums, aside_t* aside) {
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  for (int64_t s = 0; s < steps; ++s, a += STEP_BYTES, b += STEP_BYTES) {
    if (has_strips(&aside->packer)) begin_strip(&aside->packer);
    LOAD_A(0);
    LOAD_B(2);
    MULTIPLY_PARTS(a_strips, b_strips);
    do_aside(aside, 3);
    LOAD_B(1);
    MULTIPLY_PARTS(a_strips, b_strips);
    do_aside(aside, 3);
    LOAD_A(1);
    MULTIPLY_PARTS(a_strips, b_strips);
    do_aside(aside, 3);
    LOAD_B(0);
    MULTIPLY_PARTS(a_strips, b_strips);
    do_aside(aside, 3);
    LOAD_A(2);
    MULTIPLY_PARTS(a_strips, b_strips);
    do_aside(aside, 2);
    LOAD_A(0);
    MULTIPLY_PARTS(a_strips, b_strips);
    do_aside(aside, 2);
  }
  const size_t stride = PANEL * sizeof(float);
  _tile_stored(0, sums, stride);
  if (b_strips > 1) _tile_stored(1, sums + STRIP, stride);
  if (a_strips > 1) _tile_stored(2, sums + STRIP * PANEL, stride);
  if (a_strips > 1 && b_strips > 1) _tile_stored(3, sums + STRIP * PANEL + STRIP, stride);
}

// Calls multiply_strips with constant numbers of strips.
static void multiply_panels(int a_strips, int b_strips, int64_t steps, const char* a, const char* b,
                            float* sums, aside_t* aside) {
  if (a_strips > 1) {
    if (b_strips > 1) {
      multiply_strips(2, 2, steps, a, b, sums, aside);
    } else {
      multiply_strips(2, 1, steps, a, b, sums, aside);
    }
  } else if (b_strips > 1) {
    multiply_strips(1, 2, steps, a, b, sums, aside);
  } else {
    multiply_strips(1, 1, steps, a, b, sums, aside);
  }
}

typedef enum side_e { ROWS, COLUMNS } side_t;

typedef struct product_s {
  const leat_gemm_shape_t* shape;
  operand_t operands[2];  // by side: A, B
  int64_t lines[2];       // m, n
  const float* d;         // NULL: nothing is added
  float* c;
  side_t staying;
  int64_t p, depth;  // the piece of the depth that is being multiplied
} product_t;

// A packed panel, and whether its numbers suit the unit.
typedef struct panel_s {
  int64_t line;  // the first one
  const char* packed;
  bool suits;
} panel_t;

// Multiplies two panels without the unit, from the unpacked operands.
static void multiply_plainly(const product_t* product, const panel_t* a, const panel_t* b,
                             const target_t* target) {
  leat_gemm_shape_t shape = *product->shape;
  shape.m = target->rows;
  shape.n = target->columns;
  shape.k = product->depth;
  shape.ldd = target->ldd;
  leat_gemm_f32_portable(&shape, find_element(&product->operands[ROWS], a->line, product->p),
                         find_element(&product->operands[COLUMNS], b->line, product->p), target->d,
                         target->c, NULL, NULL);
}

// Multiplies two packed panels; their sums wait in |aside| to be stored during the next call.
static void multiply_packed(const product_t* product, const panel_t* a, const panel_t* b,
                            const target_t* target, aside_t* aside) {
  const int64_t steps = round_up(product->depth, STEP) / STEP;
  const int a_strips = target->rows > STRIP ? 2 : 1, b_strips = target->columns > STRIP ? 2 : 1;
  sums_t* sums = &aside->sums;
  const bool reads_d = target->d && target->d != target->c && target->ldd > 0;
  for (int64_t row = 0; row < target->rows; ++row) {
    __builtin_prefetch(target->c + row * sums->ldc, 1);
    __builtin_prefetch(target->c + row * sums->ldc + target->columns - 1, 1);
    if (!reads_d) continue;
    __builtin_prefetch(target->d + row * target->ldd);
    __builtin_prefetch(target->d + row * target->ldd + target->columns - 1);
  }
  aside->rows = (PANEL + 6 * steps - 1) / (6 * steps);
  float* next = sums->tiles[sums->last == sums->tiles[0]];
  multiply_panels(a_strips, b_strips, steps, a->packed, b->packed, next, aside);
  store_rows(sums, PANEL);
  sums->target = *target;
  sums->row = 0;
  sums->last = next;
}

// Computes C for a staying and a passing panel. Sums that wait are stored before the plain kernel
// may add to the same tile.
static void multiply(const product_t* product, const panel_t* stays, const panel_t* passes,
                     aside_t* aside) {
  const panel_t* a = product->staying == ROWS ? stays : passes;
  const panel_t* b = product->staying == ROWS ? passes : stays;
  const leat_gemm_shape_t* shape = product->shape;
  const bool is_first = product->p == 0;
  const float* added = is_first ? product->d : product->c;
  const int64_t ldd = is_first ? shape->ldd : shape->ldc;
  const target_t target = {.rows = LEAT_MIN(shape->m - a->line, PANEL),
                           .columns = LEAT_MIN(shape->n - b->line, PANEL),
                           .c = product->c + a->line * shape->ldc + b->line,
                           .d = added ? added + a->line * ldd + b->line : NULL,
                           .ldd = ldd};
  if (a->suits && b->suits) {
    multiply_packed(product, a, b, &target, aside);
  } else {
    store_rows(&aside->sums, PANEL);
    multiply_plainly(product, a, b, &target);
  }
}

// Starts packing the panel from |line| on; past the last line there is nothing to pack.
static void start_panel(packer_t* packer, const product_t* product, side_t side, int64_t line,
                        char* packed) {
  const operand_t* x = &product->operands[side];
  packer->x = *x;
  packer->x.data = find_element(x, line, product->p);
  packer->lines = LEAT_MAX(0, LEAT_MIN(product->lines[side] - line, PANEL));
  packer->depth = product->depth;
  packer->line = packer->p = 0;
  packer->ahead = (x->depth_in_rows ? STEP : STRIP) * x->ld;
  packer->packed = packed;
  packer->largest = _mm512_setzero_si512();
  packer->rows_left = 0;
}

// Multiplies the staying lines [first, first + count) by all passing lines. |packed| has room for
// the block and two passing panels, which alternate.
static void multiply_block(const product_t* product, int64_t first, int64_t count, char* packed,
                           aside_t* aside) {
  const side_t passing = product->staying == ROWS ? COLUMNS : ROWS;
  const int64_t size = panel_bytes(product->depth);
  panel_t block[BLOCK_BYTES / STEP_BYTES];
  packer_t* packer = &aside->packer;
  int panels = 0;
  for (int64_t line = first; line < first + count; line += PANEL, packed += size) {
    start_panel(packer, product, product->staying, line, packed);
    block[panels++] = (panel_t){line, packed, finish_packing(packer)};
  }
  start_panel(packer, product, passing, 0, packed);
  for (int64_t line = 0, turn = 0; line < product->lines[passing]; line += PANEL, turn ^= 1) {
    const panel_t passes = {line, packed + turn * size, finish_packing(packer)};
    start_panel(packer, product, passing, line + PANEL, packed + (turn ^ 1) * size);
    for (int i = 0; i < panels; ++i) multiply(product, &block[i], &passes, aside);
  }
}

// Computes C = op(A) op(B) + D for one thread; pieces of the depth after the first add to C.
static void run_block(const leat_gemm_shape_t* shape, const float* a, const float* b,
                      const float* d, float* c, void* workspace) {
  const bool transposed_a = shape->op_a != LEAT_GEMM_PLAIN;
  const bool transposed_b = shape->op_b != LEAT_GEMM_PLAIN;
  product_t product = {
      .shape = shape,
      .operands = {{a, shape->lda, transposed_a, transposed_a},
                   {b, shape->ldb, !transposed_b, transposed_b}},
      .lines = {shape->m, shape->n},
      .d = d,
      .c = c,
      .staying = shape->n < shape->m ? COLUMNS : ROWS};
  const int64_t depth = cut_depth(shape->k), lines = product.lines[product.staying];
  const int64_t most = cut_lines(lines, depth);
  aside_t aside;  // the packer is filled in when there is something to pack
  aside.sums.target.rows = aside.sums.row = 0;
  aside.sums.ldc = shape->ldc;
  aside.sums.last = aside.sums.tiles[0];
  configure_tiles();
  for (product.p = 0; product.p < shape->k; product.p += depth) {
    product.depth = LEAT_MIN(shape->k - product.p, depth);
    for (int64_t line = 0; line < lines; line += most) {
      multiply_block(&product, line, LEAT_MIN(lines - line, most), workspace, &aside);
    }
  }
  store_rows(&aside.sums, PANEL);
  _tile_release();
}

const leat_gemm_kernels_t* leat_gemm_split_kernels(void) {
  static const leat_gemm_kernels_t kernels = {.blocking_f32 = {.tile_rows = PANEL,
                                                               .tile_columns = PANEL,
                                                               .packed_bytes = find_packed_bytes},
                                              .block_f32 = run_block};
  return leat_cpu_has_matrix_unit() ? &kernels : NULL;
}

#else

const leat_gemm_kernels_t* leat_gemm_split_kernels(void) { return NULL; }

#endif
