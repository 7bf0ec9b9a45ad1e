// SPDX-License-Identifier: BSD-2-Clause
// What C++ adds: namespaces, templates, lambdas, constructors, exceptions.
#include <algorithm>
#include <cstdio>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace geometry
{
namespace
{
int hidden(int x)
{
	return x * 3 + 1;
}
} // namespace

class shape
{
      public:
	explicit shape(std::string name) : name_(std::move(name))
	{
	}
	virtual ~shape() = default;
	virtual double area() const = 0;
	const std::string &name() const
	{
		return name_;
	}

      private:
	std::string name_;
};

template <typename T, int Sides> class polygon : public shape
{
      public:
	polygon(const std::string &name, T side) : shape(name), side_(side)
	{
		if (side < 0)
			throw std::invalid_argument(name);
	}
	double area() const override
	{
		double sum = 0;

		for (int i = 0; i < Sides; i++)
			sum += static_cast<double>(side_) * hidden(i);
		return sum;
	}
	bool operator<(const polygon &other) const
	{
		return area() < other.area();
	}

      private:
	T side_;
};

template <typename T> __attribute__((noinline)) double total(const std::vector<T> &shapes)
{
	double sum = 0;

	std::for_each(shapes.begin(), shapes.end(), [&sum](const T &it) { sum += it->area(); });
	return sum;
}
} // namespace geometry

int main(int argc, char **argv)
{
	std::vector<std::unique_ptr<geometry::shape>> shapes;
	std::map<std::string, double> areas;

	for (int i = 0; i < argc; i++) {
		shapes.push_back(std::make_unique<geometry::polygon<int, 3>>(argv[i], i));
		shapes.push_back(std::make_unique<geometry::polygon<double, 4>>("square", i * 0.5));
	}
	std::sort(shapes.begin(), shapes.end(),
		  [](const auto &a, const auto &b) { return a->area() < b->area(); });
	for (const auto &it : shapes)
		areas[it->name()] += it->area();
	try {
		geometry::polygon<int, 5> wrong("pentagon", -argc);
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
	}
	for (const auto &it : areas)
		std::printf("%s %g\n", it.first.c_str(), it.second);
	std::printf("%g\n", geometry::total(shapes));
	return 0;
}
