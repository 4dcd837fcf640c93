"""The controller a = tanh(C s + h) and the rules that move C and h."""
