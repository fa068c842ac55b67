# analyse.sh - for tests/check.sh to read in: sanitizers, analysers, warnings.  One line per check.
ADDRESS= MEMORY=
sanitized() { :; }
threads() { :; }
valgrinds() { :; }
analyzer() { :; }
cppchecks() { :; }
tidy() { :; }
warnings() { :; }
