/* sensors.h - the present clock and temperature of the processor; 0 if unknown. */
#pragma once

int sensors_clock_khz(void);   /* of the fastest among the first few cores */
int sensors_temperature(void); /* degrees Celsius, of the hottest package */
