// Hash functions whose values are part of TensorFlow's behaviour: FarmHash Fingerprint64 and
// Fingerprint128, MurmurHash64A and SipHash-2-4. They decide which bucket an op like
// StringToHashBucketFast puts a string into, so a trained model depends on each bit, and they must
// give the same values on each machine and in each version of the library. The constants and the
// order of operations are those of the algorithms' authors; nothing here may be simplified for
// speed.
//
// FarmHash has one procedure for each range of lengths: up to 16 bytes, up to 32, up to 64, and for
// longer inputs a loop over blocks of 64 bytes with a state of seven words. Words are read
// little-endian from any address through memcpy. The loads swap no bytes, so this file assumes a
// little-endian machine.
#include "base/fingerprint.h"

#include <string.h>

#define K0 UINT64_C(0xc3a5c85c97cb3127)
#define K1 UINT64_C(0xb492b66fbe98f273)
#define K2 UINT64_C(0x9ae16a3b2f90404f)

static uint64_t word(const char* p) {
  uint64_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

static uint64_t half_word(const char* p) {
  uint32_t value;
  memcpy(&value, p, sizeof value);
  return value;
}

// Rotates |v| to the right. |right| is between 1 and 63.
static uint64_t turn(uint64_t v, int right) { return v >> right | v << (64 - right); }
static uint64_t fold(uint64_t v) { return v ^ v >> 47; }

static uint64_t mix(uint64_t u, uint64_t v, uint64_t factor) {
  uint64_t a = fold((u ^ v) * factor);
  return fold((v ^ a) * factor) * factor;
}

static uint64_t hash_to_16(const char* p, size_t size) {
  uint64_t factor = K2 + size * 2;
  if (size >= 8) {
    uint64_t a = word(p) + K2, b = word(p + size - 8);
    return mix(turn(b, 37) * factor + a, (turn(a, 25) + b) * factor, factor);
  }
  if (size >= 4) return mix(size + (half_word(p) << 3), half_word(p + size - 4), factor);
  if (size == 0) return K2;
  uint32_t first = (uint8_t)p[0], middle = (uint8_t)p[size >> 1], last = (uint8_t)p[size - 1];
  uint32_t y = first + (middle << 8), z = (uint32_t)size + (last << 2);
  return fold(y * K2 ^ z * K0) * K2;
}

static uint64_t hash_to_32(const char* p, size_t size) {
  uint64_t factor = K2 + size * 2;
  uint64_t a = word(p) * K1, b = word(p + 8);
  uint64_t c = word(p + size - 8) * factor, d = word(p + size - 16) * K2;
  return mix(turn(a + b, 43) + turn(c, 30) + d, a + turn(b + K2, 18) + c, factor);
}

static uint64_t hash_to_64(const char* p, size_t size) {
  uint64_t factor = K2 + size * 2;
  uint64_t a = word(p) * K2, b = word(p + 8);
  uint64_t c = word(p + size - 8) * factor, d = word(p + size - 16) * K2;
  uint64_t y = turn(a + b, 43) + turn(c, 30) + d;
  uint64_t z = mix(y, a + turn(b + K2, 18) + c, factor);
  uint64_t e = word(p + 16) * factor, f = word(p + 24);
  uint64_t g = (y + word(p + size - 32)) * factor, h = (z + word(p + size - 24)) * factor;
  return mix(turn(e + f, 43) + turn(g, 30) + h, e + turn(f + a, 18) + g, factor);
}

typedef struct pair_s {
  uint64_t first, second;
} pair_t;

// Mixes 32 bytes at |p| and the two words |a| and |b| into two words.
static pair_t hash_32(const char* p, uint64_t a, uint64_t b) {
  uint64_t w = word(p), x = word(p + 8), y = word(p + 16), z = word(p + 24);
  a += w;
  b = turn(b + a + z, 21);
  uint64_t sum = a + x + y;
  return (pair_t){sum + z, b + turn(sum, 44) + a};
}

typedef struct farm_s {
  uint64_t x, y, z;
  pair_t v, w;
} farm_t;

// Mixes a block of 64 bytes into the state. |scale| is 1 for all blocks but the last, for which
// FarmHash uses 9.
static void take_block(farm_t* s, const char* p, uint64_t factor, uint64_t scale) {
  uint64_t x = turn(s->x + s->y + s->v.first + word(p + 8), 37) * factor;
  uint64_t y = turn(s->y + s->v.second + word(p + 48), 42) * factor;
  x ^= s->w.second * scale;
  y += s->v.first * scale + word(p + 40);
  uint64_t z = turn(s->z + s->w.first, 33) * factor;
  s->v = hash_32(p, s->v.second * factor, x + s->w.first);
  s->w = hash_32(p + 32, z + s->w.second, y + word(p + 16));
  s->x = z;
  s->y = y;
  s->z = x;
}

// For more than 64 bytes. The last block is always the last 64 bytes of the input, so it may
// overlap the one before it; the count of bytes in the partial block is added to the state first.
static uint64_t hash_longer(const char* p, size_t size) {
  enum { SEED = 81 };
  farm_t s = {.x = SEED * K2 + word(p), .y = SEED * K1 + 113};
  s.z = fold(s.y * K2 + 113) * K2;
  const char* last = p + size - 64;
  for (size_t blocks = (size - 1) / 64; blocks > 0; --blocks, p += 64) take_block(&s, p, K1, 1);
  uint64_t factor = K1 + ((s.z & 0xff) << 1);
  s.w.first += (size - 1) & 63;
  s.v.first += s.w.first;
  s.w.first += s.v.first;
  take_block(&s, last, factor, 9);
  return mix(mix(s.v.first, s.w.first, factor) + fold(s.y) * K0 + s.z,
             mix(s.v.second, s.w.second, factor) + s.x, factor);
}

uint64_t leat_fingerprint64(leat_string_view_t bytes) {
  if (bytes.size <= 16) return hash_to_16(bytes.data, bytes.size);
  if (bytes.size <= 32) return hash_to_32(bytes.data, bytes.size);
  return bytes.size <= 64 ? hash_to_64(bytes.data, bytes.size)
                          : hash_longer(bytes.data, bytes.size);
}

// ---- 128 bits -----------------------------------------------------------------------------------

static uint64_t mix_words(uint64_t u, uint64_t v) {
  return mix(u, v, UINT64_C(0x9ddfea08eb382d69));
}

// For fewer than 128 bytes. |seed| is mixed with them.
static pair_t hash128_short(const char* p, size_t size, pair_t seed) {
  uint64_t a = seed.first, b = seed.second, c, d;
  if (size <= 16) {
    a = fold(a * K1) * K1;
    c = b * K1 + hash_to_16(p, size);
    d = fold(a + (size >= 8 ? word(p) : c));
  } else {
    c = mix_words(word(p + size - 8) + K1, a);
    d = mix_words(b + size, c + word(p + size - 16));
    a += d;
    // Whole pairs of words from the front, as many as leave between 1 and 16 bytes.
    for (const char* last = p + size - 16; p < last; p += 16) {
      a = (a ^ fold(word(p) * K1) * K1) * K1;
      b ^= a;
      c = (c ^ fold(word(p + 8) * K1) * K1) * K1;
      d ^= c;
    }
  }
  a = mix_words(a, c);
  b = mix_words(d, b);
  return (pair_t){a ^ b, mix_words(b, a)};
}

// For at least 128 bytes: pairs of blocks from the front, then what is left, in steps of 32 bytes
// from the end, the last of which may reach back into the blocks.
static pair_t hash128_long(const char* p, size_t size, pair_t seed) {
  farm_t s = {.x = seed.first, .y = seed.second, .z = size * K1};
  s.v.first = turn(s.y ^ K1, 49) * K1 + word(p);
  s.v.second = turn(s.v.first, 42) * K1 + word(p + 8);
  s.w.first = turn(s.y + s.z, 35) * K1 + s.x;
  s.w.second = turn(s.x + word(p + 88), 53) * K1;
  for (size_t blocks = size / 128 * 2; blocks > 0; --blocks, p += 64) take_block(&s, p, K1, 1);
  const size_t rest = size % 128;
  s.x += turn(s.v.first + s.z, 49) * K0;
  s.y = s.y * K0 + turn(s.w.second, 37);
  s.z = s.z * K0 + turn(s.w.first, 27);
  s.w.first *= 9;
  s.v.first *= K0;
  for (size_t done = 0; done < rest;) {
    done += 32;
    const char* at = p + rest - done;
    s.y = turn(s.x + s.y, 42) * K0 + s.v.second;
    s.w.first += word(at + 16);
    s.x = s.x * K0 + s.w.first;
    s.z += s.w.second + word(at);
    s.w.second += s.v.first;
    s.v = hash_32(at, s.v.first + s.z, s.v.second);
    s.v.first *= K0;
  }
  const uint64_t x = mix_words(s.x, s.v.first), y = mix_words(s.y + s.z, s.w.first);
  return (pair_t){mix_words(x + s.v.second, s.w.second) + y,
                  mix_words(x + s.w.second, y + s.v.second)};
}

void leat_fingerprint128(leat_string_view_t bytes, uint64_t out_words[2]) {
  const char* p = bytes.data;
  size_t size = bytes.size;
  pair_t seed = {K0, K1};
  if (size >= 16) {
    seed = (pair_t){word(p), word(p + 8) + K0};
    p += 16;
    size -= 16;
  }
  const pair_t hash = size < 128 ? hash128_short(p, size, seed) : hash128_long(p, size, seed);
  out_words[0] = hash.first;
  out_words[1] = hash.second;
}

// ---- MurmurHash and SipHash ---------------------------------------------------------------------

// The 0 to 7 bytes behind the last whole word.
static uint64_t tail_of(leat_string_view_t bytes) {
  uint64_t value = 0;
  size_t rest = bytes.size & 7;
  if (rest) memcpy(&value, bytes.data + bytes.size - rest, rest);
  return value;
}

uint64_t leat_fingerprint_murmur(leat_string_view_t bytes) {
  return leat_fingerprint_murmur_seeded(UINT64_C(0xdecafcaffe), bytes);
}

uint64_t leat_fingerprint_murmur_seeded(uint64_t seed, leat_string_view_t bytes) {
  const uint64_t factor = UINT64_C(0xc6a4a7935bd1e995);
  uint64_t hash = seed ^ bytes.size * factor;
  for (size_t i = 0; i + 8 <= bytes.size; i += 8) {
    hash = (hash ^ fold(word(bytes.data + i) * factor) * factor) * factor;
  }
  if (bytes.size & 7) hash = (hash ^ tail_of(bytes)) * factor;
  return fold(fold(hash) * factor);
}

static void sip_rounds(uint64_t v[4], int count) {
  for (; count > 0; --count) {
    v[0] += v[1];
    v[2] += v[3];
    v[1] = turn(v[1], 64 - 13) ^ v[0];
    v[3] = turn(v[3], 64 - 16) ^ v[2];
    v[0] = turn(v[0], 32) + v[3];
    v[2] += v[1];
    v[1] = turn(v[1], 64 - 17) ^ v[2];
    v[3] = turn(v[3], 64 - 21) ^ v[0];
    v[2] = turn(v[2], 32);
  }
}

static void sip_word(uint64_t v[4], uint64_t value) {
  v[3] ^= value;
  sip_rounds(v, 2);
  v[0] ^= value;
}

uint64_t leat_fingerprint_keyed(const uint64_t key[2], leat_string_view_t bytes) {
  uint64_t v[4] = {key[0] ^ UINT64_C(0x736f6d6570736575), key[1] ^ UINT64_C(0x646f72616e646f6d),
                   key[0] ^ UINT64_C(0x6c7967656e657261), key[1] ^ UINT64_C(0x7465646279746573)};
  for (size_t i = 0; i + 8 <= bytes.size; i += 8) sip_word(v, word(bytes.data + i));
  sip_word(v, tail_of(bytes) | (uint64_t)bytes.size << 56);
  v[2] ^= 0xff;
  sip_rounds(v, 4);
  return v[0] ^ v[1] ^ v[2] ^ v[3];
}
