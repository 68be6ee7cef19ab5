# A process started by gangway run.
waiter -- "$gangway" run --on null -- "$made/waiter"
doctor -- --pid "$waiting"
