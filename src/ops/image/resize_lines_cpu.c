// Bilinear resizing by lines (resize_lines_cpu.h). The columns of the output are cut into blocks,
// so that a block's part of an input row in floats, and its two lines, stay in the first-level
// cache:
//
//   a block of columns   x ──▶ end
//   input row            [ .... the floats from the first to the last that the block reads .... ]
//   lines                two, each of one input row: they are kept until another row is needed
//
// Rows of floats that are not scaled are read where they lie. Pixels of so many channels that two
// of them do not fit are worked on one by one, in parts of their channels (|is_split|).
#include "ops/image/resize_lines_cpu.h"

#include "base/checked.h"
#include "ops/image/pixels_cpu.h"

// Floats of a line, and of the part of an input row of which it is made.
#define LINE_FLOATS 1024
#define ROW_FLOATS 2048
#define NO_ROW (-1)

// |columns| columns from column |x| on, or |channels| channels of one column from channel |channel|
// on.
typedef struct block_s {
  int64_t x, columns;
  int64_t channel, channels;
  int64_t begin, size;  // the part of an input row that is read, in elements
  bool is_split;        // the left and the right pixel are converted one by one
} block_t;

// The memory of a block.
typedef struct work_s {
  leat_resize_column_t columns[LINE_FLOATS];
  float row[ROW_FLOATS + LEAT_RESIZE_SLACK];
  float lines[2][LINE_FLOATS + LEAT_RESIZE_SLACK];
  int64_t rows[2];  // the input row, counted over all images, of which each line is made; or NO_ROW
} work_t;

// ---- Blocks -------------------------------------------------------------------------------------

// The block that begins at |channel| of column |x|.
static block_t choose_block(const leat_resize_lines_t* r, int64_t x, int64_t channel) {
  const leat_tap_t* columns = r->columns;
  block_t block = {.x = x, .columns = 1, .channel = channel, .channels = r->channels};
  block.begin = columns[x].at[0] * r->channels + channel;
  if (r->channels > LINE_FLOATS) {
    block.channels = LEAT_MIN(r->channels - channel, LINE_FLOATS);
    block.is_split = true;
  }
  for (int64_t end = x + 1; !block.is_split && end < r->to_width; ++end) {
    const int64_t size = (columns[end].at[1] - columns[x].at[0] + 1) * r->channels;
    if (size > ROW_FLOATS || (end + 1 - x) * r->channels > LINE_FLOATS) break;
    ++block.columns;
  }
  const int64_t last = columns[x + block.columns - 1].at[1];
  block.size = (last - columns[x].at[0]) * r->channels + block.channels;
  // The two pixels of a column are the same one or neighbours.
  LEAT_DCHECK(block.is_split || block.size <= ROW_FLOATS);
  return block;
}

// Notes where each column of the block finds its pixels, from the block's first element on.
static void find_columns(const leat_resize_lines_t* r, const block_t* block, work_t* work) {
  const leat_tap_t* taps = r->columns + block->x;
  for (int64_t i = 0; i < block->columns; ++i) {
    LEAT_DCHECK(taps[i].at[0] <= taps[i].at[1] && taps[i].at[0] >= taps[0].at[0]);
    work->columns[i] = (leat_resize_column_t){
        .left = (int32_t)((taps[i].at[0] - taps[0].at[0]) * r->channels),
        .right = (int32_t)((taps[i].at[1] - taps[0].at[0]) * r->channels),
        .weight = taps[i].weight[1]};
  }
  if (block->is_split) work->columns[0].right = (int32_t)block->channels;
}

// ---- Lines --------------------------------------------------------------------------------------

// Writes |n| elements of the images from element |index| on as scaled floats.
static void read_floats(const leat_resize_lines_t* r, const leat_resize_loops_t* loops,
                        int64_t index, int64_t n, float* to) {
  const char* from = (const char*)r->images + (size_t)index * leat_dtype_size(r->dtype);
  if (r->dtype == LEAT_DTYPE_UINT8) {
    loops->scale_bytes((const uint8_t*)from, n, r->scaling, r->factor, to);
  } else {
    leat_pixels_to_floats(r->dtype, from, n, to);
    loops->scale_floats(n, r->scaling, r->factor, to);
  }
}

// Mixes the block's columns of input row |row| into a line.
static void make_line(const leat_resize_lines_t* r, const leat_resize_loops_t* loops,
                      const block_t* block, work_t* work, int64_t row, float* to) {
  const int64_t begin = row * r->width * r->channels + block->begin;
  const float* floats = work->row;
  int64_t size = block->size;
  if (block->is_split) {
    const int64_t right = begin + block->size - block->channels;
    size = 2 * block->channels;
    read_floats(r, loops, begin, block->channels, work->row);
    read_floats(r, loops, right, block->channels, work->row + block->channels);
  } else if (r->dtype == LEAT_DTYPE_FLOAT && !r->scaling) {
    floats = (const float*)r->images + begin;
  } else {
    read_floats(r, loops, begin, size, work->row);
    // The last pixels can be read in whole steps then.
    for (int i = 0; i < LEAT_RESIZE_SLACK; ++i) work->row[size++] = 0;
  }
  loops->mix_columns(floats, size, work->columns, block->columns, block->channels, to);
}

// The line of input row |row|, which is made if there is none. That of row |other| stays.
static const float* line_of(const leat_resize_lines_t* r, const leat_resize_loops_t* loops,
                            const block_t* block, work_t* work, int64_t row, int64_t other) {
  for (int i = 0; i < 2; ++i) {
    if (work->rows[i] == row) return work->lines[i];
  }
  const int place = work->rows[0] == other;
  make_line(r, loops, block, work, row, work->lines[place]);
  work->rows[place] = row;
  return work->lines[place];
}

static void make_block(const leat_resize_lines_t* r, const leat_resize_loops_t* loops,
                       const block_t* block, work_t* work, int64_t begin, int64_t end) {
  const int64_t line = r->to_width * r->channels;
  float* to = r->output + begin * line + block->x * r->channels + block->channel;
  work->rows[0] = work->rows[1] = NO_ROW;
  find_columns(r, block, work);
  for (int64_t i = begin; i < end; ++i, to += line) {
    const leat_tap_t* tap = &r->rows[i % r->to_height];
    const int64_t first = i / r->to_height * r->height;
    const int64_t upper = first + tap->at[0], lower = first + tap->at[1];
    const float* top = line_of(r, loops, block, work, upper, lower);
    const float* bottom = line_of(r, loops, block, work, lower, upper);
    loops->mix_lines(top, bottom, tap->weight[1], block->columns * block->channels, to);
  }
}

void leat_resize_lines(const leat_resize_lines_t* r, int64_t begin, int64_t end) {
  const leat_resize_loops_t* loops = LEAT_ISA_SELECT(leat_resize_loops);
  work_t work;
  LEAT_DCHECK(r->channels > 0 && r->width > 0 && r->height > 0);
  for (int64_t x = 0, channel = 0; x < r->to_width;) {
    const block_t block = choose_block(r, x, channel);
    make_block(r, loops, &block, &work, begin, end);
    channel += block.channels;
    if (channel < r->channels) continue;
    channel = 0;
    x += block.columns;
  }
}
