# A source file instead of the program.
echo 'int main() { return 0; }' >"$dir/add.cu"
doctor GANGWAY_DEVICE=null -- -- "$dir/add.cu"
