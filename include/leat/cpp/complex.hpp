// leat/cpp/complex.hpp: std::complex as an element of tensors. Not part of leat/leat.hpp, because
// <complex> is slow to compile.
#ifndef LEAT_CPP_COMPLEX_HPP_
#define LEAT_CPP_COMPLEX_HPP_

#include <complex>

#include "leat/cpp/tensor.hpp"

LEAT_CPP_BEGIN_NAMESPACE

template <>
struct dtype_of<std::complex<float>> : std::integral_constant<DataType, TF_COMPLEX64> {};
template <>
struct dtype_of<std::complex<double>> : std::integral_constant<DataType, TF_COMPLEX128> {};

LEAT_CPP_END_NAMESPACE

#endif  // LEAT_CPP_COMPLEX_HPP_
