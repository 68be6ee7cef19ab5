# A process that gangway run has started.
waiter -- "$gangway" run --on null -- "$made/waiter"
doctor -- --pid "$waiting"
