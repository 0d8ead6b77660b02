// White paper, section 3.2.2: cross-device communication. The graph is figure 4 of the paper: a
// node on one device whose value is read by two nodes on a second and by one on a third. The tests
// count Sends and Recvs in the graph of each device (paper/partitions.h) and the edges that still
// cross, and run the graph as well. A value that several nodes of a device read must be sent to it
// once. A chain of twenty nodes on three devices in turn shows that values cross as often as edges
// do, step after step.
#include <stdio.h>

#include "capi/function_kit.h"
#include "paper/partitions.h"

#define ON(device) " device: '/device:CPU:" device "'"
#define FLOATS TYPE("T", "FLOAT")

static functions_t f;

// Figure 4: a on one device; b and c, which read it, on a second, d on a third.
static int set_up(void** state) {
  f = functions_open_on(NODE("x", "Placeholder", "", TYPE("dtype", "FLOAT") ON("0"))
                        NODE("a", "Neg", IN("x"), FLOATS ON("0"))
                        NODE("b", "Square", IN("a"), FLOATS ON("1"))
                        NODE("c", "Tanh", IN("a"), FLOATS ON("1"))
                        NODE("bc", "Mul", IN("b") IN("c"), FLOATS ON("1"))
                        NODE("d", "Abs", IN("a"), FLOATS ON("2"))
                        NODE("y", "AddV2", IN("bc") IN("d"), FLOATS ON("0")), 3);
  return 0;
}

static int tear_down(void** state) {
  functions_close(&f);
  return 0;
}

// "... any cross-device edge from x to y is removed and replaced by an edge from x to a new Send
// node in x's subgraph and an edge from a corresponding Receive node to y in y's subgraph."
static void paper_3_2_2__edges_between_devices_become_send_and_receive(void** state) {
  paper_partitions_t partitions = paper_partitions_open(f.session, functions_output(&f, "y", 0));
  assert_int_equal(paper_partitions_crossings(&partitions), 0);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:1", "Square"), 1);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:2", "Abs"), 1);
  assert_int_equal(paper_partitions_count(&partitions, NULL, "_Send"),
                   paper_partitions_count(&partitions, NULL, "_Recv"));
  assert_int_equal(paper_partitions_count(&partitions, "CPU:0", "_Recv"), 2);  // bc and d
  paper_partitions_close(&partitions);
}

// "... we canonicalize all users of a particular tensor on a particular device to use a single
// Receive node, rather than one Receive node per downstream user": a goes to each device once.
static void paper_3_2_2__users_on_a_device_share_a_receive(void** state) {
  paper_partitions_t partitions = paper_partitions_open(f.session, functions_output(&f, "y", 0));
  assert_int_equal(paper_partitions_count(&partitions, "CPU:1", "_Recv"), 1);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:2", "_Recv"), 1);
  assert_int_equal(paper_partitions_count(&partitions, "CPU:0", "_Send"), 2);
  paper_partitions_close(&partitions);
  TF_Output y = functions_output(&f, "y", 0);
  TF_Tensor* result = functions_run(&f, "y", 0, kit_float(0), NULL);
  assert_true(kit_float_of(result) == 0);
  TF_DeleteTensor(result);
  TF_Output x = functions_output(&f, "x", 0);
  result = kit_run(f.session, x, kit_float(-20), y);  // tanh(20) is 1
  assert_true(kit_float_of(result) == 420);
  TF_DeleteTensor(result);
}

// "At runtime, the implementations of the Send and Receive nodes coordinate to transfer data": as
// often as edges cross, and step after step.
static void paper_3_2_2__values_go_to_and_fro(void** state) {
  TF_Output x = functions_output(&f, "x", 0), y = x;
  for (int i = 0; i < 20; ++i) {
    char name[20], device[20];
    snprintf(name, sizeof name, "hop%d", i);
    snprintf(device, sizeof device, "/cpu:%d", i % 3);
    TF_OperationDescription* desc = TF_NewOperation(f.graph, "Sign", name);
    TF_AddInput(desc, y);
    TF_SetDevice(desc, device);
    y = kit_out(kit_finish(desc), 0);
  }
  paper_partitions_t partitions = paper_partitions_open(f.session, y);
  // x is where the first hop is.
  assert_int_equal(paper_partitions_count(&partitions, NULL, "_Recv"), 19);
  paper_partitions_close(&partitions);
  for (int step = 0; step < 3; ++step) {
    TF_Tensor* result = kit_run(f.session, x, kit_float(7), y);
    assert_true(kit_float_of(result) == 1);
    TF_DeleteTensor(result);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
      TEST(paper_3_2_2__edges_between_devices_become_send_and_receive),
      TEST(paper_3_2_2__users_on_a_device_share_a_receive),
      TEST(paper_3_2_2__values_go_to_and_fro),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
