// Checks and hashes the names of nodes. Import does both for every node, and names are long and
// alike ("tower_3/layer_17/Adam/update_kernel/ApplyAdam"), so both work on sixteen characters at
// once, in one pass, with vector instructions that every compiler has for a vector of 16 bytes. The
// last sixteen characters are taken as a whole and overlap those before them, which saves a loop
// over the rest; the size goes into the hash, so the overlap confuses nothing. Names below sixteen
// characters, and names with '>', take the plain way. A name is [A-Za-z0-9.][A-Za-z0-9_./-]*, or
// several such texts joined by '>', as in TensorFlow; the runtime's own nodes may also begin with
// '_'.
#include "base/attributes.h"
#include "graph/graph.h"
#include "graph/node_index.h"

// Whether a character may begin a name, and whether it may stand inside one.
enum { NAME_START = 1, NAME_INSIDE = 2 };
static const uint8_t kNameCharacters[256] = {
    ['a' ... 'z'] = NAME_START | NAME_INSIDE,
    ['A' ... 'Z'] = NAME_START | NAME_INSIDE,
    ['0' ... '9'] = NAME_START | NAME_INSIDE,
    ['.'] = NAME_START | NAME_INSIDE,
    ['_'] = NAME_INSIDE,
    ['-'] = NAME_INSIDE,
    ['/'] = NAME_INSIDE,
};

typedef uint8_t characters_t __attribute__((vector_size(16)));
#define AT_ONCE sizeof(characters_t)

// All bits set in each character from |first| to |last|. The range is moved to the upper end of the
// signed bytes, where one comparison decides, since processors compare only signed bytes.
static inline characters_t are_between(characters_t c, uint8_t first, uint8_t last) {
  typedef int8_t signed_t __attribute__((vector_size(16)));
  return (characters_t)((signed_t)(c + (uint8_t)(127 - last)) > (int8_t)(126 - last + first));
}

// All bits set in each character that may stand inside a name. '-', '.', '/' and the digits are
// neighbours in ASCII; setting bit 0x20 makes capital letters small.
static inline characters_t are_inside(const uint8_t* text) {
  characters_t c;
  memcpy(&c, text, sizeof(c));
  return are_between(c, '-', '9') | are_between(c | 0x20, 'a', 'z') | (characters_t)(c == '_');
}

static inline uint64_t hash_step(uint64_t hash, const uint8_t* text) {
  uint64_t words[2];
  memcpy(words, text, sizeof(words));
  return leat_hash_fold(words[0] ^ 0x13198a2e03707344ull, words[1] ^ hash);
}

static inline uint64_t hash_end(uint64_t hash, size_t size) {
  return leat_hash_fold(hash ^ 0xa4093822299f31d0ull, size ^ 0x9e3779b97f4a7c15ull);
}

// Gives the same hash as read_long for long names.
uint64_t leat_node_name_hash(leat_string_view_t name) {
  if (name.size < AT_ONCE) return leat_string_view_hash(name);
  const uint8_t* next = (const uint8_t*)name.data;
  const uint8_t* last = next + name.size - AT_ONCE;
  uint64_t hash = 0;
  for (; next < last; next += AT_ONCE) hash = hash_step(hash, next);
  return hash_end(hash_step(hash, last), name.size);
}

// Whether all characters of a name of at least sixteen may stand inside a name, and the hash.
static inline bool read_long(leat_string_view_t name, uint64_t* out_hash) {
  const uint8_t* next = (const uint8_t*)name.data;
  const uint8_t* last = next + name.size - AT_ONCE;
  characters_t all = are_inside(last);
  uint64_t hash = 0, halves[2];
  for (; next < last; next += AT_ONCE) {
    all &= are_inside(next);
    hash = hash_step(hash, next);
  }
  *out_hash = hash_end(hash_step(hash, last), name.size);
  memcpy(halves, &all, sizeof(all));
  return (halves[0] & halves[1]) == UINT64_MAX;
}

// Whether the rest of a name, from inside its first text on, is well formed: texts joined by '>'.
static bool are_parts(const uint8_t* next, const uint8_t* end) {
  for (;;) {
    while (next < end && (kNameCharacters[*next] & NAME_INSIDE)) ++next;
    if (next == end) return true;
    if (*next++ != '>' || next == end || !(kNameCharacters[*next++] & NAME_START)) return false;
  }
}

bool leat_node_name_read(leat_string_view_t name, bool may_be_internal, uint64_t* out_hash) {
  *out_hash = 0;
  if (name.size == 0) return false;
  const uint8_t* text = (const uint8_t*)name.data;
  bool begins = (kNameCharacters[*text] & NAME_START) || (may_be_internal && *text == '_');
  if (LEAT_UNLIKELY(!begins)) return false;
  if (LEAT_LIKELY(name.size >= AT_ONCE && read_long(name, out_hash))) return true;
  if (!are_parts(text + 1, text + name.size)) return false;
  *out_hash = leat_node_name_hash(name);
  return true;
}

bool leat_node_name_is_valid(leat_string_view_t name, bool may_be_internal) {
  uint64_t hash;
  return leat_node_name_read(name, may_be_internal, &hash);
}

// ---- Names of tensors ---------------------------------------------------------------------------
// "node" (output 0), "node:1", and "^node" for a control edge, as GraphDefs write inputs and
// clients name feeds and fetches.

static leat_status_t malformed(leat_string_view_t text) {
  return leat_make_status(LEAT_INVALID_ARGUMENT,
                          "Parsing a tensor name failed: name is '%.*s', must be 'node', 'node:k' "
                          "or '^node'",
                          LEAT_SV_ARG(text));
}

leat_status_t leat_tensor_name_parse(leat_string_view_t text, leat_string_view_t* out_node,
                                     int* out_index) {
  *out_node = text;
  *out_index = 0;
  if (text.size > 0 && text.data[0] == '^') {
    *out_node = leat_string_view_from_index(text, 1);
    *out_index = LEAT_CONTROL_INDEX;
    return out_node->size > 0 ? leat_ok_status() : malformed(text);
  }
  // The index is a run of digits at the end, behind a colon. Without one the whole text is the name
  // of the node, whatever it contains.
  size_t digits = 0;
  while (digits < text.size && text.data[text.size - 1 - digits] >= '0' &&
         text.data[text.size - 1 - digits] <= '9') {
    ++digits;
  }
  size_t colon = text.size - digits;
  if (digits == 0 || colon == 0 || text.data[colon - 1] != ':') {
    return text.size > 0 ? leat_ok_status() : malformed(text);
  }
  int64_t index = 0;
  bool fits = leat_string_view_to_int64(leat_string_view_from_index(text, colon), &index);
  *out_node = leat_string_view_make(text.data, colon - 1);
  if (!fits || index > INT32_MAX || out_node->size == 0) return malformed(text);
  *out_index = (int)index;
  return leat_ok_status();
}
