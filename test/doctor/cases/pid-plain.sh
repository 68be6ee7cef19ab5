# A process started without Gangway.
waiter GANGWAY_DEVICE=null -- "$made/waiter" quiet
doctor -- --pid "$waiting"
