void use_rules(void);

void use_it(void) {
  use_rules();
}
