"""Checks nvidia-smi -q -x: well-formed XML with the fields, including units, that netdata and telegraf read."""
import re
import sys
import xml.etree.ElementTree as tree

root = tree.fromstring(sys.stdin.read())
assert root.tag == "nvidia_smi_log"
gpu = root.find("gpu")
failed = False
# netdata: src/go/plugin/go.d/collector/nvidia_smi; telegraf: plugins/inputs/nvidia_smi, schema_v13
wanted = """
product_name product_brand product_architecture uuid serial vbios_version fan_speed performance_state compute_mode
display_active display_mode persistence_mode mig_mode/current_mig mig_devices pci/tx_util pci/rx_util
pci/pci_gpu_link_info/pcie_gen/max_link_gen pci/pci_gpu_link_info/pcie_gen/current_link_gen
pci/pci_gpu_link_info/link_widths/max_link_width pci/pci_gpu_link_info/link_widths/current_link_width
utilization/gpu_util utilization/memory_util utilization/encoder_util utilization/decoder_util utilization/jpeg_util
utilization/ofa_util fb_memory_usage/total fb_memory_usage/reserved fb_memory_usage/used fb_memory_usage/free
bar1_memory_usage/total bar1_memory_usage/used bar1_memory_usage/free temperature/gpu_temp temperature/gpu_temp_tlimit
temperature/gpu_target_temperature temperature/memory_temp temperature/gpu_temp_max_tlimit_threshold
temperature/gpu_temp_slow_tlimit_threshold temperature/gpu_temp_max_gpu_tlimit_threshold
temperature/gpu_temp_max_mem_tlimit_threshold supported_gpu_target_temp/gpu_target_temp_min
supported_gpu_target_temp/gpu_target_temp_max clocks/graphics_clock clocks/sm_clock clocks/mem_clock clocks/video_clock
gpu_power_readings/power_draw gpu_power_readings/average_power_draw gpu_power_readings/instant_power_draw
gpu_power_readings/current_power_limit gpu_power_readings/requested_power_limit gpu_power_readings/default_power_limit
gpu_power_readings/min_power_limit gpu_power_readings/max_power_limit module_power_readings/instant_power_draw
ecc_mode/current_ecc ecc_errors/volatile/dram_correctable ecc_errors/volatile/sram_uncorrectable_parity
ecc_errors/aggregate/sram_threshold_exceeded ecc_errors/aggregate_uncorrectable_sram_sources/sram_l2
ecc_errors/channel_repair_pending retired_pages/multiple_single_bit_retirement/retired_count
retired_pages/double_bit_retirement/retired_count retired_pages/pending_blacklist retired_pages/pending_retirement
remapped_rows/remapped_row_corr remapped_rows/remapped_row_unc remapped_rows/remapped_row_pending
remapped_rows/remapped_row_failure remapped_rows/row_remapper_histogram/row_remapper_histogram_max
encoder_stats/session_count encoder_stats/average_fps encoder_stats/average_latency fbc_stats/session_count
fbc_stats/average_fps fbc_stats/average_latency clocks_event_reasons/clocks_event_reason_hw_thermal_slowdown
clocks_event_reasons_counters/clocks_event_reasons_counters_sw_power_cap
processes/process_info/pid processes/process_info/process_name processes/process_info/used_memory
processes/process_info/type
""".split()
for path in wanted:
    if gpu.find(path) is None:
        print("no", path)
        failed = True
for path in ("driver_version", "cuda_version", "attached_gpus", "timestamp"):
    if root.find(path) is None:
        print("no", path)
        failed = True


def check(path, pattern):
    global failed
    text = gpu.find(path).text
    if not re.fullmatch(pattern, text or ""):
        print(path, "is", repr(text))
        failed = True


check("fb_memory_usage/used", "96 MiB")
check("fb_memory_usage/total", r"\d+ MiB")
check("utilization/gpu_util", r"\d+ %")
check("clocks/sm_clock", r"\d+ MHz|N/A")
check("fan_speed", "N/A")
check("pci/pci_bus", "01")
check("pci/pci_bus_id", "00000000:01:00.0")
mine = [p for p in gpu.findall("processes/process_info") if p.find("pid").text == sys.argv[1]]
if len(mine) != 1 or mine[0].find("used_memory").text != "96 MiB":
    print("the process is missing, or its memory is wrong")
    failed = True
sys.exit(failed)
