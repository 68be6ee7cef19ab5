# A process that was started without us.
waiter GANGWAY_DEVICE=null -- "$made/waiter" quiet
doctor -- --pid "$waiting"
