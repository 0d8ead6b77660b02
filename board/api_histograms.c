// Histograms as rows of left edge, right edge and count; and distributions, which are the same
// histograms seen as the values at nine percentiles, those at which a normal distribution has whole
// and half standard deviations. Both read the stored histogram of a point when it is asked for. At
// most 51 and 501 points are answered, as TensorBoard does: the reservoir has chosen among more.
// Percentiles lie between two edges and are interpolated there.
#include "board/api.h"
#include "board/json_writer.h"
#include "board/tensor_list.h"

#define HISTOGRAM_POINTS 51
#define DISTRIBUTION_POINTS 501

leat_status_t board_api_histogram_tags(board_api_t* api, const board_request_t* request,
                                       board_response_t* response) {
  (void)request;
  return board_api_index(api, "histograms", BOARD_CLASS_TENSOR, board_api_print_names,
                         &response->body);
}

static void print_percentiles(const board_tensor_list_t* histogram, leat_string_builder_t* out);

// The answer with at most |points| points, each printed by |print|.
static leat_status_t answer(board_api_t* api, const board_request_t* request, uint32_t points,
                            void (*print)(const board_tensor_list_t*, leat_string_builder_t*),
                            leat_string_builder_t* out) {
  board_run_t* run;
  board_snapshot_t snapshot;
  leat_string_view_t tag;
  LEAT_RETURN_IF_ERROR(board_api_run_and_tag(api, request, &run, &tag));
  LEAT_RETURN_IF_ERROR(board_snapshot_take(run, tag, "histograms", BOARD_CLASS_TENSOR,
                                           request->arena, &snapshot));
  LEAT_RETURN_IF_ERROR(board_snapshot_thin(&snapshot, points, request->arena));
  leat_string_builder_append_char(out, '[');
  for (uint32_t i = 0; i < snapshot.count; ++i) {
    leat_pb_summary_value_t value;
    board_tensor_list_t histogram;
    LEAT_RETURN_IF_ERROR(board_snapshot_value(&snapshot, i, request->arena, &value));
    LEAT_RETURN_IF_ERROR(board_tensor_list_of_histogram(&value, request->arena, &histogram));
    leat_string_builder_append(out, i ? LEAT_SV(",[") : LEAT_SV("["));
    board_json_float(out, snapshot.wall_times[i]);
    leat_string_builder_append_char(out, ',');
    board_json_int(out, snapshot.steps[i]);
    leat_string_builder_append_char(out, ',');
    print(&histogram, out);
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append_char(out, ']');
  return leat_ok_status();
}

static void print_histogram(const board_tensor_list_t* histogram, leat_string_builder_t* out) {
  // Without buckets the second size is lost, as in a list of numpy.
  if (histogram->count) {
    board_tensor_list_print(histogram, out);
  } else {
    leat_string_builder_append(out, LEAT_SV("[]"));
  }
}

leat_status_t board_api_histograms(board_api_t* api, const board_request_t* request,
                                   board_response_t* response) {
  return answer(api, request, HISTOGRAM_POINTS, print_histogram, &response->body);
}

// ---- Distributions ------------------------------------------------------------------------------
static const double kBasisPoints[] = {0, 668, 1587, 3085, 5000, 6915, 8413, 9332, 10000};
#define BASIS_COUNT (sizeof kBasisPoints / sizeof *kBasisPoints)

// The value below which |basis| of ten thousand lie. |*inout_row| is the first row that may hold it
// and |*inout_before| the weight of the rows before; both only grow with |basis|.
static double percentile(const double* rows, size_t count, double basis, double total,
                         size_t* inout_row, double* inout_before) {
  double smallest = rows[0], largest = rows[(count - 1) * 3 + 1];
  for (; *inout_row < count; ++*inout_row) {
    const double* row = rows + *inout_row * 3;
    double weight = *inout_before + row[2] * 10000 / total;
    // Rows that end at or before the point, or hold nothing, lie to its left.
    if (weight > basis && weight != *inout_before) {
      double left = *inout_before > 0 ? row[-2] : smallest;
      double right = row[1] < largest ? row[1] : largest;
      if (left < smallest) left = smallest;
      return left + (basis - *inout_before) * (right - left) / (weight - *inout_before);
    }
    *inout_before = weight;
  }
  return largest;
}

static void print_percentiles(const board_tensor_list_t* histogram, leat_string_builder_t* out) {
  double total = 0, before = 0;
  size_t row = 0;
  bool has_rows = histogram->rank == 2 && histogram->dims[1] == 3 && histogram->count > 0;
  size_t count = has_rows ? histogram->dims[0] : 0;
  for (size_t i = 0; i < count; ++i) total += histogram->numbers[i * 3 + 2];
  if (total == 0) total = 1;
  leat_string_builder_append_char(out, '[');
  for (size_t i = 0; i < BASIS_COUNT; ++i) {
    double value = count ? percentile(histogram->numbers, count, kBasisPoints[i], total, &row,
                                      &before) : 0;
    leat_string_builder_print(out, "%s[%d,", i ? "," : "", (int)kBasisPoints[i]);
    board_json_float(out, value);
    leat_string_builder_append_char(out, ']');
  }
  leat_string_builder_append_char(out, ']');
}

leat_status_t board_api_distributions(board_api_t* api, const board_request_t* request,
                                      board_response_t* response) {
  return answer(api, request, DISTRIBUTION_POINTS, print_percentiles, &response->body);
}
