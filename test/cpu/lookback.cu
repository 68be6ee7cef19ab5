/*
 * CUB's decoupled look-back on several host threads: inclusive_scan and reduce_by_key of a million elements are right
 * every time.  lookback [CALLS]
 */
#include <thrust/device_vector.h>
#include <thrust/reduce.h>
#include <thrust/scan.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char **argv)
{
	int calls = argc > 1 ? atoi(argv[1]) : 100, n = 1 << 20, wrong_scans = 0, wrong_sums = 0;
	std::vector<int> values(n), keys(n), scan(n), got(n), want_keys, want_sums;

	for (int i = 0; i < n; i++) {
		values[i] = (int)(i * 7919u % 13) - 3;
		keys[i] = i / 5 + (i % 37 == 0);
		scan[i] = values[i] + (i ? scan[i - 1] : 0);
		if (!i || keys[i] != keys[i - 1]) {
			want_keys.push_back(keys[i]);
			want_sums.push_back(0);
		}
		want_sums.back() += values[i];
	}

	thrust::device_vector<int> v(values.begin(), values.end()), k(keys.begin(), keys.end()), out(n), out_keys(n);

	for (int c = 0; c < calls; c++) {
		thrust::inclusive_scan(v.begin(), v.end(), out.begin());
		thrust::copy(out.begin(), out.end(), got.begin());
		wrong_scans += got != scan;

		auto end = thrust::reduce_by_key(k.begin(), k.end(), v.begin(), out_keys.begin(), out.begin());
		std::vector<int> got_keys(end.first - out_keys.begin()), got_sums(got_keys.size());

		thrust::copy(out_keys.begin(), end.first, got_keys.begin());
		thrust::copy(out.begin(), end.second, got_sums.begin());
		wrong_sums += got_keys != want_keys || got_sums != want_sums;
	}
	printf("%d calls: %d scans and %d reductions are wrong\n", calls, wrong_scans, wrong_sums);
	return wrong_scans || wrong_sums;
}
