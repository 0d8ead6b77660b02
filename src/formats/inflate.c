// Blocks are decoded into a window of which the last 32 KiB stay, since copies reach so far back.
// Decoding goes on until the window is full or the stream ends, then waits, amid a block if need
// be, for what was decoded to be read. Codes of up to FAST_BITS bits are found in a table by their
// bits; longer ones by the first code of each length.
#include "formats/inflate.h"

#include <string.h>

#include "base/attributes.h"
#include "formats/wire.h"

enum {
  FAST_BITS = 10,
  MAX_BITS = 15,
  LITERAL_CODES = 288,
  DISTANCE_CODES = 32,
  HISTORY_BYTES = 1 << 15,
  WINDOW_BYTES = 1 << 17,
  LONGEST_COPY = 258,
  INPUT_BYTES = 1 << 16,
};

typedef struct codes_s {
  uint16_t fast[1 << FAST_BITS];    // length << 9 | symbol; 0: none so short
  uint32_t end_code[MAX_BITS + 2];  // past the last code of a length, as if of 16 bits
  uint16_t first_code[MAX_BITS + 1];
  uint16_t first_index[MAX_BITS + 1];
  uint16_t symbols[LITERAL_CODES];  // in the order of their codes
} codes_t;

typedef enum phase_e { PHASE_HEADER, PHASE_BLOCK, PHASE_STORED, PHASE_CODED, PHASE_END } phase_t;

struct leat_inflate_s {
  leat_record_source_t base;
  leat_record_source_t* compressed;
  leat_allocator_t* allocator;
  leat_inflate_format_t format;
  phase_t phase;
  bool is_last_block;
  bool truncated;
  size_t stored_left;
  uint64_t bits;
  int bit_count;
  const uint8_t* next;  // of |input|
  const uint8_t* end;
  size_t given;   // of the window, to the reader
  size_t filled;  // of the window
  size_t summed;  // of the window, into the checksum
  uint32_t checksum;
  uint32_t size;  // of the member
  uint32_t crc_table[256];
  codes_t literals, distances;
  uint8_t input[INPUT_BYTES];
  uint8_t window[WINDOW_BYTES];
};

static leat_status_t broken(const char* what) {
  return leat_make_status(LEAT_DATA_LOSS, "inflate() failed with error -3: %s", what);
}

// ---- Bits ---------------------------------------------------------------------------------------

static leat_status_t fill_input(leat_inflate_t* s) {
  size_t size;
  LEAT_RETURN_IF_ERROR(s->compressed->read(s->compressed, s->input, sizeof s->input, &size));
  s->next = s->input;
  s->end = s->input + size;
  s->truncated = size == 0;
  return leat_ok_status();
}

// At least |count| bits, of at most 32, unless the input ends: |truncated|.
static leat_status_t need_slowly(leat_inflate_t* s, int count) {
  if (LEAT_LIKELY(s->end - s->next >= 8)) {
    // What is over |bit_count| is of the byte at |next|, and comes again.
    s->bits |= leat_wire_load64(s->next) << s->bit_count;
    s->next += (63 - s->bit_count) >> 3;
    s->bit_count |= 56;
    return leat_ok_status();
  }
  while (s->bit_count < count) {
    if (s->next == s->end) LEAT_RETURN_IF_ERROR(fill_input(s));
    if (s->truncated) return leat_ok_status();
    s->bits |= (uint64_t)*s->next++ << s->bit_count;
    s->bit_count += 8;
  }
  return leat_ok_status();
}

static inline leat_status_t need(leat_inflate_t* s, int count) {
  return LEAT_LIKELY(s->bit_count >= count) ? leat_ok_status() : need_slowly(s, count);
}

static inline uint32_t take(leat_inflate_t* s, int count) {
  uint32_t value = (uint32_t)(s->bits & (((uint64_t)1 << count) - 1));
  s->bits >>= count;
  s->bit_count -= count;
  return value;
}

// 0 once the input has ended.
static leat_status_t read_bits(leat_inflate_t* s, int count, uint32_t* out_value) {
  *out_value = 0;
  LEAT_RETURN_IF_ERROR(need(s, count));
  if (!s->truncated) *out_value = take(s, count);
  return leat_ok_status();
}

// ---- Codes --------------------------------------------------------------------------------------

static uint32_t reverse(uint32_t code, int length) {
  uint32_t reversed = 0;
  for (int i = 0; i < length; ++i) reversed |= (code >> i & 1) << (length - 1 - i);
  return reversed;
}

static void enter_fast(codes_t* codes, uint32_t code, int length, int symbol) {
  if (length > FAST_BITS) return;
  for (uint32_t i = reverse(code, length); i < 1 << FAST_BITS; i += 1u << length) {
    codes->fast[i] = (uint16_t)(length << 9 | symbol);
  }
}

// |lengths| of the codes of |count| symbols; 0: the symbol has none.
static leat_status_t make_codes(const uint8_t* lengths, int count, codes_t* codes) {
  int counts[MAX_BITS + 1] = {0};
  uint32_t next_code[MAX_BITS + 1], code = 0;
  int index = 0;
  memset(codes->fast, 0, sizeof codes->fast);
  for (int i = 0; i < count; ++i) ++counts[lengths[i]];
  counts[0] = 0;
  for (int length = 1; length <= MAX_BITS; ++length) {
    next_code[length] = code;
    codes->first_code[length] = (uint16_t)code;
    codes->first_index[length] = (uint16_t)index;
    code += (uint32_t)counts[length];
    if (code > 1u << length) return broken("oversubscribed codes");
    codes->end_code[length] = code << (16 - length);
    code <<= 1;
    index += counts[length];
  }
  codes->end_code[MAX_BITS + 1] = 0x10000;
  for (int i = 0; i < count; ++i) {
    int length = lengths[i];
    if (length == 0) continue;
    uint32_t own = next_code[length]++;
    codes->symbols[own - codes->first_code[length] + codes->first_index[length]] = (uint16_t)i;
    enter_fast(codes, own, length, i);
  }
  return leat_ok_status();
}

static leat_status_t decode_long(leat_inflate_t* s, const codes_t* codes, int* out_symbol) {
  uint32_t code = reverse((uint32_t)(s->bits & 0xffff), 16);
  int length = FAST_BITS + 1;
  while (length <= MAX_BITS && code >= codes->end_code[length]) ++length;
  if (length > MAX_BITS && s->bit_count >= MAX_BITS) return broken("invalid code");
  if (length > s->bit_count) {
    s->truncated = true;
    return leat_ok_status();
  }
  take(s, length);
  *out_symbol = codes->symbols[(code >> (16 - length)) - codes->first_code[length] +
                               codes->first_index[length]];
  return leat_ok_status();
}

static inline leat_status_t decode(leat_inflate_t* s, const codes_t* codes, int* out_symbol) {
  *out_symbol = 0;
  if (LEAT_UNLIKELY(s->bit_count < MAX_BITS)) {
    LEAT_RETURN_IF_ERROR(need_slowly(s, MAX_BITS));
    s->truncated = false;  // the last codes may be shorter than what was asked for
  }
  unsigned entry = codes->fast[s->bits & ((1 << FAST_BITS) - 1)];
  int length = (int)(entry >> 9);
  if (LEAT_UNLIKELY(length == 0)) return decode_long(s, codes, out_symbol);
  if (LEAT_UNLIKELY(length > s->bit_count)) {
    s->truncated = true;
    return leat_ok_status();
  }
  s->bits >>= length;
  s->bit_count -= length;
  *out_symbol = (int)(entry & 511);
  return leat_ok_status();
}

// ---- Blocks -------------------------------------------------------------------------------------

static leat_status_t begin_stored(leat_inflate_t* s) {
  uint32_t size, inverse;
  take(s, s->bit_count & 7);
  LEAT_RETURN_IF_ERROR(read_bits(s, 16, &size));
  LEAT_RETURN_IF_ERROR(read_bits(s, 16, &inverse));
  if (!s->truncated && size != (inverse ^ 0xffff)) return broken("invalid stored block lengths");
  s->stored_left = size;
  s->phase = PHASE_STORED;
  return leat_ok_status();
}

static leat_status_t begin_fixed(leat_inflate_t* s) {
  uint8_t lengths[LITERAL_CODES];
  for (int i = 0; i < LITERAL_CODES; ++i) {
    lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
  }
  LEAT_RETURN_IF_ERROR(make_codes(lengths, LITERAL_CODES, &s->literals));
  memset(lengths, 5, DISTANCE_CODES);
  s->phase = PHASE_CODED;
  return make_codes(lengths, DISTANCE_CODES, &s->distances);
}

// The lengths of both sets of codes, themselves coded by |s->literals|.
static leat_status_t read_lengths(leat_inflate_t* s, int total, uint8_t* lengths) {
  for (int i = 0; i < total && !s->truncated;) {
    int symbol;
    uint32_t extra = 0;
    LEAT_RETURN_IF_ERROR(decode(s, &s->literals, &symbol));
    if (symbol < 16) {
      lengths[i++] = (uint8_t)symbol;
      continue;
    }
    LEAT_RETURN_IF_ERROR(read_bits(s, symbol == 16 ? 2 : symbol == 17 ? 3 : 7, &extra));
    int repeat = (int)extra + (symbol == 18 ? 11 : 3);
    if ((symbol == 16 && i == 0) || repeat > total - i) return broken("invalid bit length repeat");
    uint8_t length = symbol == 16 ? lengths[i - 1] : 0;
    memset(lengths + i, length, (size_t)repeat);
    i += repeat;
  }
  return leat_ok_status();
}

static leat_status_t begin_dynamic(leat_inflate_t* s) {
  static const uint8_t kOrder[19] = {16, 17, 18, 0, 8,  7, 9,  6, 10, 5,
                                     11, 4,  12, 3, 13, 2, 14, 1, 15};
  uint8_t lengths[LITERAL_CODES + DISTANCE_CODES] = {0};
  uint32_t literals, distances, count, length;
  LEAT_RETURN_IF_ERROR(read_bits(s, 5, &literals));
  LEAT_RETURN_IF_ERROR(read_bits(s, 5, &distances));
  LEAT_RETURN_IF_ERROR(read_bits(s, 4, &count));
  literals += 257;
  distances += 1;
  if (literals > 286 || distances > 30) return broken("too many length or distance symbols");
  for (uint32_t i = 0; i < count + 4; ++i) {
    LEAT_RETURN_IF_ERROR(read_bits(s, 3, &length));
    lengths[kOrder[i]] = (uint8_t)length;
  }
  if (s->truncated) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(make_codes(lengths, 19, &s->literals));
  memset(lengths, 0, sizeof lengths);
  LEAT_RETURN_IF_ERROR(read_lengths(s, (int)(literals + distances), lengths));
  if (s->truncated) return leat_ok_status();
  LEAT_RETURN_IF_ERROR(make_codes(lengths, (int)literals, &s->literals));
  s->phase = PHASE_CODED;
  return make_codes(lengths + literals, (int)distances, &s->distances);
}

static leat_status_t begin_block(leat_inflate_t* s) {
  uint32_t last, kind;
  LEAT_RETURN_IF_ERROR(read_bits(s, 1, &last));
  LEAT_RETURN_IF_ERROR(read_bits(s, 2, &kind));
  if (s->truncated) return leat_ok_status();
  s->is_last_block = last;
  if (kind == 0) return begin_stored(s);
  if (kind == 1) return begin_fixed(s);
  return kind == 2 ? begin_dynamic(s) : broken("invalid block type");
}

static leat_status_t copy_stored(leat_inflate_t* s) {
  while (s->stored_left && s->filled < WINDOW_BYTES && !s->truncated) {
    if (s->bit_count) {
      s->window[s->filled++] = (uint8_t)take(s, 8);
      --s->stored_left;
      continue;
    }
    s->bits = 0;
    if (s->next == s->end) LEAT_RETURN_IF_ERROR(fill_input(s));
    size_t size = (size_t)(s->end - s->next);
    if (size > s->stored_left) size = s->stored_left;
    if (size > WINDOW_BYTES - s->filled) size = WINDOW_BYTES - s->filled;
    memcpy(s->window + s->filled, s->next, size);
    s->next += size;
    s->filled += size;
    s->stored_left -= size;
  }
  if (s->stored_left == 0) s->phase = PHASE_BLOCK;
  return leat_ok_status();
}

static const uint16_t kLengthBase[] = {3,  4,  5,  6,  7,  8,  9,  10,  11,  13,
                                       15, 17, 19, 23, 27, 31, 35, 43,  51,  59,
                                       67, 83, 99, 115, 131, 163, 195, 227, 258};
static const uint8_t kLengthBits[] = {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2,
                                      2, 3, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 5, 0};
static const uint16_t kDistanceBase[] = {1,   2,   3,   4,   5,   7,    9,    13,   17,   25,
                                         33,  49,  65,  97,  129, 193,  257,  385,  513,  769,
                                         1025, 1537, 2049, 3073, 4097, 6145, 8193, 12289, 16385,
                                         24577};

static leat_status_t copy_back(leat_inflate_t* s, int length_code) {
  uint32_t extra;
  int distance_code;
  if (length_code > 28) return broken("invalid literal/length code");
  LEAT_RETURN_IF_ERROR(read_bits(s, kLengthBits[length_code], &extra));
  size_t length = kLengthBase[length_code] + extra;
  LEAT_RETURN_IF_ERROR(decode(s, &s->distances, &distance_code));
  if (distance_code > 29) return broken("invalid distance code");
  LEAT_RETURN_IF_ERROR(read_bits(s, distance_code < 4 ? 0 : distance_code / 2 - 1, &extra));
  size_t distance = kDistanceBase[distance_code] + extra;
  if (s->truncated) return leat_ok_status();
  if (distance > s->filled) return broken("invalid distance too far back");
  uint8_t* to = s->window + s->filled;
  const uint8_t* from = to - distance;
  s->filled += length;
  if (distance >= length) {
    memcpy(to, from, length);
  } else {
    while (length--) *to++ = *from++;
  }
  return leat_ok_status();
}

static leat_status_t decode_symbols(leat_inflate_t* s) {
  while (s->filled + LONGEST_COPY <= WINDOW_BYTES) {
    int symbol;
    LEAT_RETURN_IF_ERROR(decode(s, &s->literals, &symbol));
    if (LEAT_UNLIKELY(s->truncated)) return leat_ok_status();
    if (symbol < 256) {
      s->window[s->filled++] = (uint8_t)symbol;
    } else if (symbol == 256) {
      s->phase = PHASE_BLOCK;
      return leat_ok_status();
    } else {
      LEAT_RETURN_IF_ERROR(copy_back(s, symbol - 257));
      if (s->truncated) return leat_ok_status();
    }
  }
  return leat_ok_status();
}

// ---- What is around the blocks ------------------------------------------------------------------

static void sum(leat_inflate_t* s) {
  const uint8_t *p = s->window + s->summed, *end = s->window + s->filled;
  s->size += (uint32_t)(end - p);
  s->summed = s->filled;
  if (s->format == LEAT_INFLATE_GZIP) {
    uint32_t crc = ~s->checksum;
    for (; p < end; ++p) crc = crc >> 8 ^ s->crc_table[(crc ^ *p) & 255];
    s->checksum = ~crc;
    return;
  }
  uint32_t low = s->checksum & 0xffff, high = s->checksum >> 16;
  while (p < end) {
    const uint8_t* stop = end - p > 5552 ? p + 5552 : end;  // the most before |high| overflows
    for (; p < stop; ++p) high += low += *p;
    low %= 65521;
    high %= 65521;
  }
  s->checksum = high << 16 | low;
}

static leat_status_t skip_string(leat_inflate_t* s) {
  uint32_t byte = 1;
  while (byte && !s->truncated) LEAT_RETURN_IF_ERROR(read_bits(s, 8, &byte));
  return leat_ok_status();
}

static leat_status_t read_gzip_header(leat_inflate_t* s) {
  enum { HAS_CRC = 2, HAS_EXTRA = 4, HAS_NAME = 8, HAS_COMMENT = 16 };
  uint32_t magic, method, flags, ignored;
  LEAT_RETURN_IF_ERROR(read_bits(s, 16, &magic));
  LEAT_RETURN_IF_ERROR(read_bits(s, 8, &method));
  LEAT_RETURN_IF_ERROR(read_bits(s, 8, &flags));
  if (s->truncated) return leat_ok_status();
  if (magic != 0x8b1f || method != 8 || flags & 0xe0) return broken("incorrect header check");
  LEAT_RETURN_IF_ERROR(read_bits(s, 32, &ignored));
  LEAT_RETURN_IF_ERROR(read_bits(s, 16, &ignored));
  if (flags & HAS_EXTRA) {
    uint32_t size;
    LEAT_RETURN_IF_ERROR(read_bits(s, 16, &size));
    while (size-- && !s->truncated) LEAT_RETURN_IF_ERROR(read_bits(s, 8, &ignored));
  }
  if (flags & HAS_NAME) LEAT_RETURN_IF_ERROR(skip_string(s));
  if (flags & HAS_COMMENT) LEAT_RETURN_IF_ERROR(skip_string(s));
  return flags & HAS_CRC ? read_bits(s, 16, &ignored) : leat_ok_status();
}

static leat_status_t read_header(leat_inflate_t* s) {
  uint32_t method, flags;
  s->phase = PHASE_BLOCK;
  s->is_last_block = false;
  s->size = 0;
  s->checksum = s->format == LEAT_INFLATE_GZIP ? 0 : 1;
  if (s->format == LEAT_INFLATE_GZIP) return read_gzip_header(s);
  LEAT_RETURN_IF_ERROR(read_bits(s, 8, &method));
  LEAT_RETURN_IF_ERROR(read_bits(s, 8, &flags));
  if (s->truncated) return leat_ok_status();
  bool fits = (method << 8 | flags) % 31 == 0 && (method & 15) == 8 && method >> 4 <= 7;
  if (!fits) return broken("incorrect header check");
  return flags & 32 ? broken("a preset dictionary is needed") : leat_ok_status();
}

static leat_status_t read_trailer(leat_inflate_t* s) {
  uint32_t checksum, size = 0;
  bool is_gzip = s->format == LEAT_INFLATE_GZIP;
  sum(s);
  take(s, s->bit_count & 7);
  LEAT_RETURN_IF_ERROR(read_bits(s, 32, &checksum));
  if (is_gzip) LEAT_RETURN_IF_ERROR(read_bits(s, 32, &size));
  s->phase = is_gzip ? PHASE_HEADER : PHASE_END;
  if (s->truncated) return leat_ok_status();
  if (!is_gzip) checksum = __builtin_bswap32(checksum);
  if (checksum != s->checksum) return broken("incorrect data check");
  return is_gzip && size != s->size ? broken("incorrect length check") : leat_ok_status();
}

// ---- The source ---------------------------------------------------------------------------------

static leat_status_t advance(leat_inflate_t* s) {
  switch (s->phase) {
    case PHASE_HEADER: return read_header(s);
    case PHASE_BLOCK: return s->is_last_block ? read_trailer(s) : begin_block(s);
    case PHASE_STORED: return copy_stored(s);
    case PHASE_CODED: return decode_symbols(s);
    default: return leat_ok_status();
  }
}

// Everything was given out: makes room and decodes until there is something, or the end.
static leat_status_t fill_window(leat_inflate_t* s) {
  if (s->filled > WINDOW_BYTES / 2) {
    sum(s);
    memmove(s->window, s->window + s->filled - HISTORY_BYTES, HISTORY_BYTES);
    s->given = s->filled = s->summed = HISTORY_BYTES;
  }
  while (s->phase != PHASE_END && !s->truncated &&
         s->filled + LONGEST_COPY <= WINDOW_BYTES) {
    LEAT_RETURN_IF_ERROR(advance(s));
  }
  return leat_ok_status();
}

static leat_status_t inflate_read(leat_record_source_t* self, void* data, size_t size,
                                  size_t* out_read) {
  leat_inflate_t* s = (leat_inflate_t*)self;
  for (*out_read = 0; *out_read < size;) {
    if (s->given == s->filled) LEAT_RETURN_IF_ERROR(fill_window(s));
    size_t part = s->filled - s->given;
    if (part == 0) break;
    if (part > size - *out_read) part = size - *out_read;
    memcpy((char*)data + *out_read, s->window + s->given, part);
    s->given += part;
    *out_read += part;
  }
  return leat_ok_status();
}

leat_status_t leat_inflate_create(leat_record_source_t* compressed, leat_inflate_format_t format,
                                  leat_allocator_t* allocator, leat_inflate_t** out_inflate) {
  LEAT_RETURN_IF_ERROR(
      leat_allocator_allocate(allocator, sizeof **out_inflate, (void**)out_inflate));
  leat_inflate_t* s = *out_inflate;
  s->base.read = inflate_read;
  s->compressed = compressed;
  s->allocator = allocator;
  s->format = format;
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? UINT32_C(0xedb88320) : 0);
    s->crc_table[i] = crc;
  }
  return leat_ok_status();
}

void leat_inflate_free(leat_inflate_t* inflate) {
  if (inflate) leat_allocator_free(inflate->allocator, inflate);
}

leat_record_source_t* leat_inflate_source(leat_inflate_t* inflate) { return &inflate->base; }
