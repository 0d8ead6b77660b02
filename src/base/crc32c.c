// CRC-32C, with the CPU's instruction where there is one. A CRC is the remainder of a division of
// polynomials over GF(2), with the bits in reverse order.
//
// The instruction takes eight bytes at once, but its result is there only three cycles later. Three
// stretches of the data are therefore computed side by side, and their CRCs are joined: crc(A B) is
// crc(A), extended by as many zero bytes as B has, xor crc(B). Extending by a fixed number of zeros
// is a linear map of 32 bits, which four tables of 256 words compute. Without the instruction,
// eight bytes at a time are looked up in eight tables. The tables are filled at the first use.
#include "base/crc32c.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#include "base/attributes.h"
#include "base/sync.h"

#define POLYNOMIAL 0x82f63b78u  // reflected
#define STRETCH_LONG 4096
#define STRETCH_SHORT 256

typedef struct crc_tables_s {
  uint32_t bytes[8][256];        // [k][b]: byte b followed by k zero bytes
  uint32_t long_move[4][256];    // extends byte k of a crc by STRETCH_LONG zero bytes
  uint32_t short_move[4][256];   // the same for STRETCH_SHORT
} crc_tables_t;

static crc_tables_t tables;

static void fill_byte_tables(void) {
  for (uint32_t b = 0; b < 256; ++b) {
    uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? POLYNOMIAL : 0);
    tables.bytes[0][b] = crc;
  }
  for (int k = 1; k < 8; ++k) {
    for (uint32_t b = 0; b < 256; ++b) {
      uint32_t crc = tables.bytes[k - 1][b];
      tables.bytes[k][b] = (crc >> 8) ^ tables.bytes[0][crc & 255];
    }
  }
}

// Applies to |crc| the linear map that takes bit i to of_bit[i].
static uint32_t apply(const uint32_t of_bit[32], uint32_t crc) {
  uint32_t result = 0;
  for (int bit = 0; crc; ++bit, crc >>= 1) result ^= crc & 1 ? of_bit[bit] : 0;
  return result;
}

// Fills the tables for |distance| zero bytes, a power of two. The map for one byte is squared until
// it stands for so many.
static void fill_move_table(uint32_t move[4][256], int distance) {
  uint32_t of_bit[32], doubled[32];
  for (int bit = 0; bit < 32; ++bit) {
    uint32_t crc = 1u << bit;
    of_bit[bit] = (crc >> 8) ^ tables.bytes[0][crc & 255];
  }
  for (int reached = 1; reached < distance; reached *= 2) {
    for (int bit = 0; bit < 32; ++bit) doubled[bit] = apply(of_bit, of_bit[bit]);
    memcpy(of_bit, doubled, sizeof(of_bit));
  }
  for (int k = 0; k < 4; ++k) {
    for (uint32_t b = 0; b < 256; ++b) move[k][b] = apply(of_bit, b << (8 * k));
  }
}

enum { STATE_EMPTY, STATE_FILLING, STATE_TABLES, STATE_INSTRUCTION };

static _Atomic int state;
static bool has_hardware(void);

// The first thread that comes fills the tables; others that come in the meantime wait for it, about
// 10 us. Returns whether there is the instruction.
LEAT_COLD static bool fill_tables(void) {
  int expected = STATE_EMPTY;
  if (atomic_compare_exchange_strong(&state, &expected, STATE_FILLING)) {
    fill_byte_tables();
    fill_move_table(tables.long_move, STRETCH_LONG);
    fill_move_table(tables.short_move, STRETCH_SHORT);
    atomic_store_explicit(&state, has_hardware() ? STATE_INSTRUCTION : STATE_TABLES,
                          memory_order_release);
  }
  while (atomic_load_explicit(&state, memory_order_acquire) < STATE_TABLES) leat_cpu_relax();
  return atomic_load_explicit(&state, memory_order_relaxed) == STATE_INSTRUCTION;
}

static uint64_t load_word(const uint8_t* p) {
  uint64_t word;
  memcpy(&word, p, 8);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return word;
}

static uint32_t extend_by_tables(uint32_t crc, const uint8_t* p, size_t size) {
  for (; size >= 8; p += 8, size -= 8) {
    uint64_t word = load_word(p) ^ crc;
    crc = 0;
    for (int k = 0; k < 8; ++k) crc ^= tables.bytes[7 - k][word >> (8 * k) & 255];
  }
  for (; size > 0; ++p, --size) crc = (crc >> 8) ^ tables.bytes[0][(crc ^ *p) & 255];
  return crc;
}

#if defined(__x86_64__)
static uint32_t moved_on(uint32_t move[4][256], uint32_t crc) {
  return move[0][crc & 255] ^ move[1][crc >> 8 & 255] ^ move[2][crc >> 16 & 255] ^
         move[3][crc >> 24];
}

__attribute__((target("sse4.2"))) static const uint8_t* extend_three(
    uint64_t* inout_crc, const uint8_t* p, size_t stretch, uint32_t move[4][256]) {
  uint64_t first = *inout_crc, second = 0, third = 0;
  for (const uint8_t* end = p + stretch; p < end; p += 8) {
    first = __builtin_ia32_crc32di(first, load_word(p));
    second = __builtin_ia32_crc32di(second, load_word(p + stretch));
    third = __builtin_ia32_crc32di(third, load_word(p + 2 * stretch));
  }
  second ^= moved_on(move, (uint32_t)first);
  *inout_crc = third ^ moved_on(move, (uint32_t)second);
  return p + 2 * stretch;
}

__attribute__((target("sse4.2"))) static const uint8_t* extend_stretches(uint64_t* inout_crc,
                                                                         const uint8_t* p,
                                                                         const uint8_t* end) {
  while (end - p >= 3 * STRETCH_LONG) {
    p = extend_three(inout_crc, p, STRETCH_LONG, tables.long_move);
  }
  while (end - p >= 3 * STRETCH_SHORT) {
    p = extend_three(inout_crc, p, STRETCH_SHORT, tables.short_move);
  }
  return p;
}

// Short data, such as the head of a record, take a few instructions in all.
__attribute__((target("sse4.2"))) static uint32_t extend_by_hardware(uint32_t start,
                                                                     const uint8_t* p,
                                                                     size_t size) {
  uint64_t crc = start;
  const uint8_t* end = p + size;
  if (size >= 3 * STRETCH_SHORT) p = extend_stretches(&crc, p, end);
  for (; end - p >= 8; p += 8) crc = __builtin_ia32_crc32di(crc, load_word(p));
  uint32_t half, last = (uint32_t)crc;
  if (size & 4) {
    memcpy(&half, p, 4);
    last = __builtin_ia32_crc32si(last, half);
    p += 4;
  }
  for (; p < end; ++p) last = __builtin_ia32_crc32qi(last, *p);
  return last;
}

static bool has_hardware(void) { return __builtin_cpu_supports("sse4.2"); }
#else
static uint32_t extend_by_hardware(uint32_t crc, const uint8_t* p, size_t size) {
  return extend_by_tables(crc, p, size);
}
static bool has_hardware(void) { return false; }
#endif

uint32_t leat_crc32c_extend(uint32_t crc, const void* data, size_t size) {
  int now = atomic_load_explicit(&state, memory_order_acquire);
  if (LEAT_LIKELY(now == STATE_INSTRUCTION) || (now < STATE_TABLES && fill_tables())) {
    return ~extend_by_hardware(~crc, data, size);
  }
  return ~extend_by_tables(~crc, data, size);
}
