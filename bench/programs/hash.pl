# A hash of small arrays: grows word by word, is read in order, shrinks.
use strict;
use warnings;

my %words;
my $state = 1;
for my $i (1 .. 1_000_000) {
    $state = ($state * 1103515245 + 12345) & 0x7fffffff;
    push @{ $words{ "word" . ($state % 500_000) } }, $i;
}
my $sum = 0;
for my $word (sort keys %words) {
    $sum += scalar @{ $words{$word} };
}
$sum == 1_000_000 or die "lost a word\n";
delete $words{$_} for keys %words;
