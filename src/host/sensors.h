/* sensors.h - what the kernel tells of the processor at this moment.  0: it does not. */
#pragma once

int sensors_clock_khz(void);   /* the fastest of a few of its cores */
int sensors_temperature(void); /* degrees Celsius, of the hottest package */
