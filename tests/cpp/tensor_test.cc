// Tensors of the C++ front end. The type comes from the C++ type of the values in braces, and the
// shape from how deep the braces go, which is decided at compile time by overloads that are easily
// ambiguous; so each depth and type has a line. Copies share their elements while moves leave an
// empty tensor. A tensor over the caller's buffer copies nothing and calls the caller's function
// exactly once at its end. Views of another type than the elements are refused.
#include "leat/leat.hpp"
#include "test.hpp"

using namespace leat;

TEST(scalars_have_the_type_of_their_value) {
  CHECK(Tensor(1).dtype() == DT_INT32 && Tensor(1).shape().rank() == 0);
  CHECK(Tensor(1.f).dtype() == DT_FLOAT && Tensor(2.5).dtype() == DT_DOUBLE);
  CHECK(Tensor(true).dtype() == DT_BOOL && Tensor(true).scalar<bool>());
  CHECK(Tensor(std::int64_t{7}).scalar<std::int64_t>() == 7);
  CHECK(Tensor(7LL).dtype() == DT_INT64 && Tensor(std::uint8_t{7}).dtype() == DT_UINT8);
  CHECK(Tensor("text").dtype() == DT_STRING && Tensor("text").string() == "text");
  CHECK(Tensor(std::string("a\0b", 3)).string().size() == 3);
}

TEST(lists_in_braces_are_vectors_matrices_and_blocks) {
  const Tensor vector{1.f, 2.f, 3.f};
  CHECK(vector.shape() == TensorShape{3} && vector.span<float>()[2] == 3);
  const Tensor matrix{{1, 2}, {3, 4}, {5, 6}};
  CHECK(matrix.shape() == TensorShape({3, 2}) && matrix.at<int>(2, 1) == 6);
  const Tensor blocks{{{1, 2}, {3, 4}}, {{5, 6}, {7, 8}}};
  CHECK(blocks.shape() == TensorShape({2, 2, 2}) && blocks.at<int>(1, 0, 1) == 6);
  const Tensor words{{"a", "b"}, {"c", "a longer text that has a block of its own"}};
  CHECK(words.shape() == TensorShape({2, 2}) && words.string(2) == "c");
  CHECK(words.strings()[3] == "a longer text that has a block of its own");
  CHECK_ERROR(TF_INVALID_ARGUMENT, Tensor({{1, 2}, {3}}));
}

TEST(a_view_has_the_type_of_the_elements) {
  Tensor tensor(DT_FLOAT, {2, 2});
  for (float& x : tensor.span<float>()) {
    CHECK(x == 0);
    x = 1;
  }
  CHECK(tensor.to_vector<float>() == std::vector<float>({1, 1, 1, 1}));
  CHECK_ERROR(TF_INVALID_ARGUMENT, tensor.span<int>());
  CHECK_ERROR(TF_INVALID_ARGUMENT, tensor.string());
  CHECK_ERROR(TF_INVALID_ARGUMENT, Tensor().span<float>());
}

TEST(copies_share_elements_and_moves_leave_nothing) {
  Tensor first{1, 2};
  Tensor second = first;
  second.span<int>()[0] = 9;
  CHECK(first.at<int>(0) == 9);
  Tensor third = std::move(first);
  CHECK(!first && third && first.count() == 0 && first.shape().rank() == 0);
  CHECK(third.data() == second.data());
}

TEST(a_tensor_over_a_buffer_copies_nothing_and_frees_it_once) {
  alignas(64) static float buffer[16] = {0, 1, 2, 3};
  int freed = 0;
  {
    const Tensor tensor = Tensor::over(buffer, {4, 4}, [&freed] { ++freed; });
    CHECK(tensor.data() == buffer && tensor.at<float>(0, 3) == 3);
    const Tensor again = tensor;
    CHECK(freed == 0);
  }
  CHECK(freed == 1);
  CHECK(!Tensor::over(buffer, {-1}, [&freed] { ++freed; }) && freed == 2);
  CHECK(Tensor::borrow(buffer, {2}).data() == buffer);
  std::vector<double> values(100, 0.5);
  CHECK(Tensor::adopt(std::move(values), {10, 10}).at<double>(9, 9) == 0.5);
  CHECK_ERROR(TF_INVALID_ARGUMENT, Tensor::adopt(std::vector<int>(3), {4}));
}

TEST(a_reshaped_tensor_has_the_same_elements) {
  const Tensor tensor{1, 2, 3, 4};
  const Tensor square = tensor.reshaped({2, 2});
  CHECK(square.at<int>(1, 0) == 3 && square.data() == tensor.data());
  CHECK(Tensor({"a", "b"}).reshaped({2, 1}).string(1) == "b");
  CHECK_ERROR(TF_INVALID_ARGUMENT, tensor.reshaped({3}));
}

TEST(shapes_say_what_is_unknown) {
  CHECK(TensorShape({-1, 3}).text() == "[?,3]" && TensorShape({-1, 3}).count() == -1);
  CHECK(TensorShape::unknown().rank() == -1 && TensorShape::unknown().text() == "?");
  CHECK(TensorShape() == TensorShape({}) && TensorShape().count() == 1);
  CHECK(TensorShape() != TensorShape::unknown());
}

int main() { return test::run_tests(); }
